//! The engine: see [`glance::cli`].

// The network allocates and frees megabytes a pass: a system allocator that hands such blocks back to the kernel each
// time costs two fifths of the time of a batch of sixteen.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    glance::cli::main()
}
