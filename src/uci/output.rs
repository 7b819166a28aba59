//! Lines to the GUI, from any thread, and to the log.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// Where answers go. Clones write to the same place, whole lines at a time.
#[derive(Clone)]
pub struct Output(Arc<Mutex<Sinks>>);

struct Sinks {
    out: Box<dyn Write + Send>,
    log: Option<File>,
}

impl Output {
    /// To this writer.
    pub fn new(out: impl Write + Send + 'static) -> Output {
        Output(Arc::new(Mutex::new(Sinks { out: Box::new(out), log: None })))
    }

    fn sinks(&self) -> MutexGuard<'_, Sinks> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Writes lines and flushes. A GUI that has gone away is no error here: the end of the input will say so.
    pub fn lines<S: AsRef<str>>(&self, lines: impl IntoIterator<Item = S>) {
        let mut sinks = self.sinks();
        for line in lines {
            let _ = writeln!(sinks.out, "{}", line.as_ref());
            sinks.note("<", line.as_ref());
        }
        let _ = sinks.out.flush();
    }

    /// Writes a line.
    pub fn line(&self, line: impl AsRef<str>) {
        self.lines([line]);
    }

    /// Writes an `info string` line: one line, whatever the text holds.
    pub fn info(&self, text: impl std::fmt::Display) {
        let text = text.to_string().split(['\n', '\r']).collect::<Vec<_>>().join(" ");
        self.line(format!("info string {text}"));
    }

    /// Notes a line that came in.
    pub fn heard(&self, line: &str) {
        self.sinks().note(">", line);
    }

    /// Starts a log, or ends it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn log_to(&self, path: Option<&Path>) -> io::Result<()> {
        let log = path.map(|p| File::options().create(true).append(true).open(p)).transpose()?;
        self.sinks().log = log;
        Ok(())
    }
}

impl Sinks {
    fn note(&mut self, sign: &str, line: &str) {
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{sign} {line}");
        }
    }
}
