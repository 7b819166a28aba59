//! One network trained on several machines: each takes its part of every batch, and one of them, the leader, adds the gradients up.
//!
//! The others follow: they connect to the leader, are given a number, begin with the leader's checkpoint, and send at each step what is to be
//! added up; the leader sends the sum back. So all take the same step, on the same schedule, and stop together. Parts are added in the
//! order of the machines' numbers: the sum does not depend on who answers first.

mod gather;
mod start;
mod wire;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::train::checkpoint::CheckpointError;
pub use gather::Told;
use wire::Line;

/// What this machine does in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// It trains alone.
    #[default]
    Alone,
    /// It leads.
    Leads {
        /// Where it listens, `host:port`.
        address: String,
        /// Machines in all, itself among them.
        machines: usize,
    },
    /// It follows a leader.
    Follows {
        /// Where the leader listens, `host:port`.
        address: String,
    },
}

/// Which part of every batch is a machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The machine's number; the leader's is 0.
    pub rank: usize,
    /// Machines in all.
    pub of: usize,
}

impl Share {
    /// Everything.
    pub const WHOLE: Share = Share { rank: 0, of: 1 };

    /// This part of a batch.
    pub fn part<T>(self, batch: &[T]) -> &[T] {
        let end = |rank: usize| batch.len() * rank / self.of;
        &batch[end(self.rank)..end(self.rank + 1)]
    }
}

/// Why machines do not train together, or no longer do.
#[derive(Debug, thiserror::Error)]
pub enum MachinesError {
    /// The leader cannot listen there.
    #[error("{address}: cannot listen there: {error}")]
    Listen {
        /// The address.
        address: String,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody leads there.
    #[error("{address}: no leader answered there within {seconds} s: {error}")]
    NoLeader {
        /// The address.
        address: String,
        /// How long it was tried.
        seconds: u64,
        /// What the system said last.
        error: io::Error,
    },
    /// A connection that carried training is lost.
    #[error("{who} went away: {error}; the last checkpoint is kept")]
    Lost {
        /// The machine.
        who: String,
        /// What the system said.
        error: io::Error,
    },
    /// The leader does not take this machine.
    #[error("the leader refuses: {0}")]
    Refused(String),
    /// What came is not what was to come.
    #[error("{who} sent {what}")]
    Strange {
        /// The machine.
        who: String,
        /// What it sent.
        what: String,
    },
    /// The leader's checkpoint cannot be read, or not be kept.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// This machine's run is further than the leader's.
    #[error(
        "{path}: its checkpoint is at step {own}, the leader's at {leader}: let this machine lead, or choose another --run"
    )]
    Ahead {
        /// The run's folder.
        path: PathBuf,
        /// Steps done here.
        own: u64,
        /// Steps done by the leader.
        leader: u64,
    },
    /// Ctrl-C while waiting for others.
    #[error("interrupted while waiting for other machines")]
    Interrupted,
}

/// How long a follower looks for its leader.
const LOOKS: Duration = Duration::from_secs(600);
/// Pause between two looks, and between looks at Ctrl-C.
const PAUSE: Duration = Duration::from_millis(100);
/// Machines at most.
pub const MOST: usize = 1024;

/// The machines of a run, seen from one of them.
pub struct Machines {
    share: Share,
    /// The followers in the order of their numbers, or the leader alone; nobody where this machine trains alone.
    lines: Vec<Line>,
}

impl Machines {
    /// A machine that trains by itself.
    pub fn alone() -> Machines {
        Machines { share: Share::WHOLE, lines: Vec::new() }
    }

    /// Brings the machines together. `run` says what is trained, and how: who differs is refused, and told in what.
    ///
    /// # Errors
    /// When addresses cannot be used, nobody answers, or this machine is refused.
    pub fn join(place: &Place, run: &Value, interrupted: &Arc<AtomicBool>) -> Result<Machines, MachinesError> {
        // As it reads on the other side: numbers lose a bit of themselves in writing.
        let run = &serde_json::from_str(&run.to_string()).unwrap_or_else(|_| run.clone());
        match place {
            Place::Alone => Ok(Machines::alone()),
            Place::Leads { address, machines } => lead(address, *machines, run, interrupted),
            Place::Follows { address } => follow(address, run, interrupted),
        }
    }

    /// Which part of every batch is this machine's.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Whether the others begin where this machine is, and follow its clock.
    fn leads(&self) -> bool {
        self.share.rank == 0
    }
}

fn lead(address: &str, machines: usize, run: &Value, interrupted: &Arc<AtomicBool>) -> Result<Machines, MachinesError> {
    let cannot = |error| MachinesError::Listen { address: address.to_owned(), error };
    let listener = TcpListener::bind(address).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let mut lines: Vec<Line> = Vec::new();
    println!("leading: waiting at {address} for {} more", machines.saturating_sub(1));
    while lines.len() + 1 < machines {
        if interrupted.load(Ordering::Relaxed) {
            return Err(MachinesError::Interrupted);
        }
        let (stream, from) = match listener.accept() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(cannot(error)),
        };
        let share = Share { rank: lines.len() + 1, of: machines };
        // Whoever is not one of them goes away again without harm.
        match welcome(stream, from, share, run, interrupted) {
            Ok(line) => {
                println!("machine {} of {machines}: {from}", share.rank + 1);
                lines.push(line);
            }
            Err(error) => eprintln!("glance-trainer: {from} does not take part: {error}"),
        }
    }
    Ok(Machines { share: Share { rank: 0, of: machines }, lines })
}

fn welcome(
    stream: TcpStream,
    from: SocketAddr,
    share: Share,
    run: &Value,
    interrupted: &Arc<AtomicBool>,
) -> Result<Line, MachinesError> {
    let mut line = Line::new(stream, format!("machine {} ({from})", share.rank), interrupted.clone())?;
    let theirs: Value = line.receive_json()?;
    if let Some(difference) = difference("", run, &theirs) {
        line.send_json(&serde_json::json!({ "refused": difference }))?;
        return Err(MachinesError::Refused(difference));
    }
    line.send_json(&serde_json::json!({ "rank": share.rank, "of": share.of }))?;
    Ok(line.patient())
}

fn follow(address: &str, run: &Value, interrupted: &Arc<AtomicBool>) -> Result<Machines, MachinesError> {
    let begun = Instant::now();
    let stream = loop {
        if interrupted.load(Ordering::Relaxed) {
            return Err(MachinesError::Interrupted);
        }
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            // What no patience mends is said at once.
            Err(error) if begun.elapsed() > LOOKS || !may_come(&error) => {
                let seconds = begun.elapsed().as_secs();
                return Err(MachinesError::NoLeader { address: address.to_owned(), seconds, error });
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    };
    let mut line = Line::new(stream, format!("the leader ({address})"), interrupted.clone())?;
    line.send_json(run)?;
    let answer: Value = line.receive_json()?;
    if let Some(why) = answer["refused"].as_str() {
        return Err(MachinesError::Refused(why.replace(char::is_control, " ")));
    }
    let number = |name: &str| answer[name].as_u64().and_then(|n| usize::try_from(n).ok());
    match (number("rank"), number("of")) {
        (Some(rank), Some(of)) if 0 < rank && rank < of && of <= MOST => {
            Ok(Machines { share: Share { rank, of }, lines: vec![line.patient()] })
        }
        _ => Err(line.strange(format!("'{answer}' instead of a number for this machine"))),
    }
}

/// Whether a leader that has not begun to listen yet looks like this.
fn may_come(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable | TimedOut)
}

/// The first thing in which two descriptions differ, in words.
fn difference(name: &str, leaders: &Value, own: &Value) -> Option<String> {
    let within = |key: &dyn std::fmt::Display| if name.is_empty() { key.to_string() } else { format!("{name}.{key}") };
    match (leaders, own) {
        (Value::Object(a), Value::Object(b)) => {
            a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).find_map(|key| {
                difference(&within(key), leaders.get(key).unwrap_or(&Value::Null), own.get(key).unwrap_or(&Value::Null))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|i| difference(&within(&i), &a[i], &b[i]))
        }
        _ => (leaders != own).then(|| format!("{name} is {own} here and {leaders} at the leader")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_batch() {
        let batch: Vec<u32> = (0..23).collect();
        for of in 1..30 {
            let parts: Vec<u32> = (0..of).flat_map(|rank| Share { rank, of }.part(&batch)).copied().collect();
            assert_eq!(parts, batch);
        }
    }

    #[test]
    fn differences_are_named() {
        let json = |text: &str| serde_json::from_str::<Value>(text).expect("json");
        let (a, b) = (
            json(r#"{"recipe": {"rate": 0.1, "sizes": [1, 2]}}"#),
            json(r#"{"recipe": {"rate": 0.1, "sizes": [1, 3]}}"#),
        );
        assert_eq!(difference("", &a, &a), None);
        assert_eq!(difference("", &a, &b).as_deref(), Some("recipe.sizes.1 is 3 here and 2 at the leader"));
        let fewer = json(r#"{"recipe": {"rate": 0.1}}"#);
        assert_eq!(difference("", &a, &fewer).as_deref(), Some("recipe.sizes is null here and [1,2] at the leader"));
        assert_eq!(difference("", &fewer, &a).as_deref(), Some("recipe.sizes is [1,2] here and null at the leader"));
    }
}
