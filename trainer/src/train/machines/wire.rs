//! What goes over a connection: parcels of bytes, each after its length. Whoever is silent for too long is lost.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::MachinesError;

/// How long the other side may be silent before anything was agreed on.
const GREETING: Duration = Duration::from_secs(10);
/// How long after that: it may be writing a checkpoint, validating, or compiling its kernels.
const PATIENCE: Duration = Duration::from_secs(1800);
/// The same after Ctrl-C here: a step's time.
const HURRY: Duration = Duration::from_secs(30);
/// Between looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes of a description at most.
const WORDS: u64 = 1 << 20;
/// Bytes that are asked for at once, so that memory is taken as they come and not as they are announced.
const PIECE: u64 = 1 << 20;

/// A connection with another machine.
pub(super) struct Line {
    stream: TcpStream,
    /// Who is at the other end.
    who: String,
    patience: Duration,
    interrupted: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn new(stream: TcpStream, who: String, interrupted: Arc<AtomicBool>) -> Result<Line, MachinesError> {
        let line = Line { stream, who, patience: GREETING, interrupted };
        // A connection that was accepted without waiting may go on so.
        line.stream
            .set_nonblocking(false)
            .and_then(|()| line.stream.set_nodelay(true))
            .and_then(|()| line.stream.set_read_timeout(Some(LOOK)))
            .and_then(|()| line.stream.set_write_timeout(Some(LOOK)))
            .map_err(|error| line.lost(error))?;
        Ok(line)
    }

    /// The same connection, on which the other side may take its time.
    pub(super) fn patient(mut self) -> Line {
        self.patience = PATIENCE;
        self
    }

    fn lost(&self, error: io::Error) -> MachinesError {
        MachinesError::Lost { who: self.who.clone(), error }
    }

    pub(super) fn strange(&self, what: String) -> MachinesError {
        MachinesError::Strange { who: self.who.clone(), what: what.replace(char::is_control, " ") }
    }

    /// Does a bit of input or output again and again until `left` bytes are through.
    fn patiently(
        &mut self,
        mut left: usize,
        mut some: impl FnMut(&mut TcpStream, usize) -> io::Result<usize>,
    ) -> Result<(), MachinesError> {
        let mut since = Instant::now();
        while left > 0 {
            match some(&mut self.stream, left) {
                Ok(0) => return Err(self.lost(io::Error::from(io::ErrorKind::UnexpectedEof))),
                Ok(n) => {
                    left -= n;
                    since = Instant::now();
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        let hurry = self.interrupted.load(Ordering::Relaxed);
                        if since.elapsed() > if hurry { HURRY.min(self.patience) } else { self.patience } {
                            return Err(self.lost(io::Error::from(io::ErrorKind::TimedOut)));
                        }
                    }
                    _ => return Err(self.lost(error)),
                },
            }
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), MachinesError> {
        self.patiently(bytes.len(), |stream, left| stream.write(&bytes[bytes.len() - left..]))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), MachinesError> {
        let length = bytes.len();
        self.patiently(length, |stream, left| stream.read(&mut bytes[length - left..]))
    }

    /// Sends a parcel.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), MachinesError> {
        self.write(&(bytes.len() as u64).to_le_bytes())?;
        self.write(bytes)
    }

    /// Receives a parcel of `most` bytes at most.
    pub(super) fn receive(&mut self, most: u64) -> Result<Vec<u8>, MachinesError> {
        let mut length = [0; 8];
        self.read(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > most {
            return Err(self.strange(format!("{length} bytes where {most} are allowed")));
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let before = bytes.len();
            bytes.resize(before + PIECE.min(length - before as u64) as usize, 0);
            self.read(&mut bytes[before..])?;
        }
        Ok(bytes)
    }

    /// Sends a description.
    pub(super) fn send_json(&mut self, value: &impl Serialize) -> Result<(), MachinesError> {
        let words = serde_json::to_vec(value).map_err(|error| self.lost(io::Error::other(error)))?;
        self.send(&words)
    }

    /// Receives one.
    pub(super) fn receive_json<T: DeserializeOwned>(&mut self) -> Result<T, MachinesError> {
        let bytes = self.receive(WORDS)?;
        serde_json::from_slice(&bytes).map_err(|error| self.strange(format!("no description: {error}")))
    }

    /// Sends numbers.
    pub(super) fn send_numbers(&mut self, numbers: &[f32]) -> Result<(), MachinesError> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.send(&bytes)
    }

    /// Receives exactly so many.
    pub(super) fn receive_numbers(&mut self, count: usize) -> Result<Vec<f32>, MachinesError> {
        let bytes = self.receive(count as u64 * 4)?;
        if bytes.len() != count * 4 {
            return Err(self.strange(format!("{} bytes where {} were to come", bytes.len(), count * 4)));
        }
        Ok(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect())
    }
}
