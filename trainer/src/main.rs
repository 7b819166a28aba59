//! `glance-trainer`: from games to a network.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    glance_trainer::cli::main()
}
