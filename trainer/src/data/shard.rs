//! Shards, the trainer's own files: a header, an index, and records.
//!
//! All numbers are little-endian.
//!
//! | bytes | header |
//! |---|---|
//! | 8 | `GLNSHARD` |
//! | 4 | version, 1 |
//! | 4 | kind: 1 games, 2 positions |
//! | 8 | number of records, n |
//! | 8 | bytes of the body, b |
//! | 4 | CRC-32 of index and body |
//! | 4 | zero |
//! | 4 × (n + 1) | games only: where each record starts in the body |
//! | b | body |
//!
//! A game's record: flags (bits 0–1 result: White, draw, Black, unknown; bit 2 evaluations; bit 3 clocks; bits 4–5 pool),
//! White's and Black's rating (u16, 0 = unknown), seconds (u16) and increment (u8) of the time control (all
//! ones = unknown), plies (u16); then for each ply a byte, the move's index among the legal moves in the
//! order of the vocabulary; then, if flagged, for each ply the evaluation (i16, White's side, centipawns; mate in n as
//! ±(32000 − n); −32768 = none), and the clock (u16 seconds; 65535 = none).
//!
//! A position's record, 30 bytes: the packed position (25), the best move's index (u8), the evaluation (i16, White's
//! side), the depth (u8), zero (u8).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use glance::board::Pool;
use memmap2::Mmap;
use shakmaty::{Chess, Move, Position};

use super::movetext::{Moves, NO_CLOCK, NO_EVAL};
use super::{move_at, packed};

const MAGIC: &[u8; 8] = b"GLNSHARD";
const VERSION: u32 = 1;
const HEADER: usize = 40;
const GAME_HEAD: usize = 10;
/// Bytes of a position's record.
pub const POSITION_BYTES: usize = 30;

/// Why a shard could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
    /// The file is not a whole shard.
    #[error("{path}: {reason}; prepare it again")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What a shard holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Games, move by move.
    Games = 1,
    /// Evaluated positions.
    Positions = 2,
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameResult {
    /// 1-0.
    White,
    /// Drawn.
    Draw,
    /// 0-1.
    Black,
    /// `*`.
    Unknown,
}

/// What is known of a game besides its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameHead {
    /// Result.
    pub result: GameResult,
    /// Where it was played.
    pub pool: Pool,
    /// White's rating.
    pub white: Option<u16>,
    /// Black's rating.
    pub black: Option<u16>,
    /// Seconds on the clock at the start, and increment.
    pub time_control: Option<(u16, u8)>,
}

/// A game in a shard.
#[derive(Clone, Copy, Debug)]
pub struct GameRecord<'a> {
    /// Ratings, result, time control.
    pub head: GameHead,
    /// A byte a ply.
    pub ranks: &'a [u8],
    evals: Option<&'a [u8]>,
    clocks: Option<&'a [u8]>,
}

impl GameRecord<'_> {
    /// The moves, each with the position before it; ends where the record is damaged.
    pub fn line(&self) -> impl Iterator<Item = (Chess, Move)> {
        self.ranks.iter().scan(Chess::default(), |position, &rank| {
            let m = move_at(position, rank)?;
            let before = position.clone();
            position.play_unchecked(m);
            Some((before, m))
        })
    }

    /// Evaluation after a ply (from 0), from White's side.
    pub fn eval(&self, ply: usize) -> Option<i16> {
        let bytes = self.evals?.get(2 * ply..2 * ply + 2)?;
        Some(i16::from_le_bytes([bytes[0], bytes[1]])).filter(|&e| e != NO_EVAL)
    }

    /// The mover's clock after a ply (from 0), in seconds.
    pub fn clock(&self, ply: usize) -> Option<u16> {
        let bytes = self.clocks?.get(2 * ply..2 * ply + 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]])).filter(|&c| c != NO_CLOCK)
    }
}

/// Writes a game's record.
pub fn encode_game(head: &GameHead, moves: &Moves) -> Vec<u8> {
    let plies = moves.ranks.len().min(usize::from(u16::MAX));
    let evals = moves.evals.iter().any(|&e| e != NO_EVAL);
    let clocks = moves.clocks.iter().any(|&c| c != NO_CLOCK);
    let mut out = Vec::with_capacity(GAME_HEAD + plies);
    out.push(head.result as u8 | u8::from(evals) << 2 | u8::from(clocks) << 3 | (head.pool as u8) << 4);
    out.extend(head.white.unwrap_or(0).to_le_bytes());
    out.extend(head.black.unwrap_or(0).to_le_bytes());
    let (base, increment) = head.time_control.unwrap_or((u16::MAX, u8::MAX));
    out.extend(base.to_le_bytes());
    out.push(increment);
    out.extend((plies as u16).to_le_bytes());
    out.extend(&moves.ranks[..plies]);
    if evals {
        moves.evals[..plies].iter().for_each(|e| out.extend(e.to_le_bytes()));
    }
    if clocks {
        moves.clocks[..plies].iter().for_each(|c| out.extend(c.to_le_bytes()));
    }
    out
}

fn decode_game(bytes: &[u8]) -> Option<GameRecord<'_>> {
    let head = bytes.get(..GAME_HEAD)?;
    let u16_at = |i: usize| u16::from_le_bytes([head[i], head[i + 1]]);
    let flags = head[0];
    let result = [GameResult::White, GameResult::Draw, GameResult::Black, GameResult::Unknown];
    let plies = usize::from(u16_at(8));
    let known = |x: u16| (x != 0).then_some(x);
    let time_control = (u16_at(5) != u16::MAX).then_some((u16_at(5), head[7]));
    let (ranks, rest) = bytes[GAME_HEAD..].split_at_checked(plies)?;
    let (evals, rest) =
        if flags & 4 != 0 { rest.split_at_checked(2 * plies).map(|(a, b)| (Some(a), b))? } else { (None, rest) };
    let (clocks, rest) =
        if flags & 8 != 0 { rest.split_at_checked(2 * plies).map(|(a, b)| (Some(a), b))? } else { (None, rest) };
    let head = GameHead {
        result: result[usize::from(flags & 3)],
        pool: Pool::ALL[usize::from(flags >> 4 & 3)],
        white: known(u16_at(1)),
        black: known(u16_at(3)),
        time_control,
    };
    rest.is_empty().then_some(GameRecord { head, ranks, evals, clocks })
}

/// An evaluated position in a shard.
#[derive(Clone, Debug)]
pub struct PositionRecord {
    /// The position.
    pub position: Chess,
    /// The best move's index among the legal moves.
    pub best: u8,
    /// From White's side.
    pub eval: i16,
}

/// Writes a position's record.
pub fn encode_position(position: &Chess, best: u8, eval: i16, depth: u8) -> Option<[u8; POSITION_BYTES]> {
    let mut out = [0; POSITION_BYTES];
    out[..packed::BYTES].copy_from_slice(&packed::pack(position)?);
    out[25] = best;
    out[26..28].copy_from_slice(&eval.to_le_bytes());
    out[28] = depth;
    Some(out)
}

/// Writes a shard: to a file beside it first, then renamed, so that a kill leaves no half of one.
pub fn write(path: &Path, kind: Kind, records: &[Vec<u8>]) -> Result<u64, ShardError> {
    let io = |error| ShardError::Io { path: path.to_owned(), error };
    let mut crc = crc32fast::Hasher::new();
    let mut index = Vec::new();
    let mut at = 0_u32;
    if kind == Kind::Games {
        index.extend(at.to_le_bytes());
        for record in records {
            at = at.checked_add(record.len() as u32).ok_or_else(|| ShardError::Corrupt {
                path: path.to_owned(),
                reason: "more than 4 GiB of games in one shard".into(),
            })?;
            index.extend(at.to_le_bytes());
        }
    }
    crc.update(&index);
    records.iter().for_each(|r| crc.update(r));
    let bytes: u64 = records.iter().map(|r| r.len() as u64).sum();
    let partial = path.with_extension("partial");
    let mut file = BufWriter::new(File::create(&partial).map_err(io)?);
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend((kind as u32).to_le_bytes());
    header.extend((records.len() as u64).to_le_bytes());
    header.extend(bytes.to_le_bytes());
    header.extend(crc.finalize().to_le_bytes());
    header.extend([0; 4]);
    file.write_all(&header).map_err(io)?;
    file.write_all(&index).map_err(io)?;
    for record in records {
        file.write_all(record).map_err(io)?;
    }
    file.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)?;
    std::fs::rename(&partial, path).map_err(io)?;
    Ok(bytes)
}

/// A shard, mapped into memory.
pub struct Shard {
    map: Mmap,
    kind: Kind,
    count: usize,
    body: usize,
    path: PathBuf,
}

impl Shard {
    /// Opens a shard and checks all of it.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a whole shard of this version.
    pub fn open(path: &Path) -> Result<Shard, ShardError> {
        let io = |error| ShardError::Io { path: path.to_owned(), error };
        let corrupt = |reason: &str| ShardError::Corrupt { path: path.to_owned(), reason: reason.into() };
        let file = File::open(path).map_err(io)?;
        // SAFETY: shards are written once, under another name, and renamed into place; a program that cuts one
        // short while it is mapped gets the signal it asked for.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        let header = map.get(..HEADER).ok_or_else(|| corrupt("shorter than a shard's header"))?;
        if &header[..8] != MAGIC {
            return Err(corrupt("not a shard"));
        }
        let u32_at = |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        if u32_at(8) != VERSION {
            return Err(corrupt(&format!("version {}, this program reads {VERSION}", u32_at(8))));
        }
        let kind = match u32_at(12) {
            1 => Kind::Games,
            2 => Kind::Positions,
            other => return Err(corrupt(&format!("kind {other}, 1 and 2 are known"))),
        };
        let count = usize::try_from(u64_at(16)).map_err(|_| corrupt("too many records"))?;
        let index = if kind == Kind::Games { count.checked_add(1).and_then(|n| n.checked_mul(4)) } else { Some(0) };
        let body = index.and_then(|i| i.checked_add(HEADER)).ok_or_else(|| corrupt("too many records"))?;
        if body as u64 + u64_at(24) != map.len() as u64 {
            return Err(corrupt("cut short"));
        }
        if crc32fast::hash(&map[HEADER..]) != u32_at(32) {
            return Err(corrupt("checksum does not match"));
        }
        Ok(Shard { map, kind, count, body, path: path.to_owned() })
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A game, if this is a shard of games and holds so many.
    pub fn game(&self, i: usize) -> Option<GameRecord<'_>> {
        if self.kind != Kind::Games || i >= self.count {
            return None;
        }
        let at = |i: usize| -> Option<usize> {
            let bytes = self.map.get(HEADER + 4 * i..HEADER + 4 * i + 4)?;
            Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
        };
        decode_game(self.map.get(self.body + at(i)?..self.body + at(i + 1)?)?)
    }

    /// A position's record, if this is a shard of positions and holds so many.
    pub fn bytes(&self, i: usize) -> Option<&[u8]> {
        if self.kind != Kind::Positions || i >= self.count {
            return None;
        }
        let start = self.body + i * POSITION_BYTES;
        self.map.get(start..start + POSITION_BYTES)
    }

    /// A position, if this is a shard of positions and holds so many.
    pub fn position(&self, i: usize) -> Option<PositionRecord> {
        let bytes = self.bytes(i)?;
        let position = packed::unpack(bytes[..packed::BYTES].try_into().ok()?)?;
        Some(PositionRecord { position, best: bytes[25], eval: i16::from_le_bytes([bytes[26], bytes[27]]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::movetext;

    fn head() -> GameHead {
        GameHead {
            result: GameResult::Draw,
            pool: Pool::ChessCom,
            white: Some(1500),
            black: None,
            time_control: Some((600, 5)),
        }
    }

    #[test]
    fn games_come_back_as_written_and_damage_is_noticed() {
        let dir = std::env::temp_dir().join(format!("glance-shard-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("temporary folder");
        let path = dir.join("a.games");
        let moves = movetext::parse("1. e4 { [%eval 0.3] [%clk 0:01:00] } e5 2. Nf3").expect("a game");
        let short = movetext::parse("1. d4").expect("a game");
        let records = vec![encode_game(&head(), &moves), encode_game(&head(), &short)];
        write(&path, Kind::Games, &records).expect("written");
        let shard = Shard::open(&path).expect("whole");
        assert_eq!((shard.len(), shard.kind()), (2, Kind::Games));
        let game = shard.game(0).expect("first");
        assert_eq!(game.head, head());
        assert_eq!(game.ranks, moves.ranks);
        let line: Vec<_> = game.line().collect();
        assert_eq!((line.len(), line[0].0.clone()), (moves.ranks.len(), Chess::default()));
        assert_eq!(line[1].0.turn(), shakmaty::Color::Black);
        assert_eq!((game.eval(0), game.eval(1), game.clock(0), game.clock(1)), (Some(30), None, Some(60), None));
        assert_eq!(shard.game(1).expect("second").eval(0), None);
        assert!(shard.game(2).is_none() && shard.position(0).is_none());

        let good = std::fs::read(&path).expect("readable");
        for (at, expected) in [(0, "not a shard"), (8, "version"), (12, "kind"), (16, "cut short"), (50, "checksum")] {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            std::fs::write(&path, &bad).expect("writable");
            let error = Shard::open(&path).err().expect("damaged").to_string();
            assert!(error.contains(expected) && error.contains("a.games"), "{at}: {error}");
        }
        std::fs::write(&path, &good[..good.len() - 1]).expect("writable");
        assert!(Shard::open(&path).is_err());
        std::fs::remove_dir_all(&dir).expect("removable");
    }
}
