//! The engine: see [`glance::cli`].

fn main() -> std::process::ExitCode {
    glance::cli::main()
}
