//! Rows of games and of evaluations as records of shards.

use std::hash::{DefaultHasher, Hash, Hasher};

use arrow_array::{Array, RecordBatch, StringArray, cast::AsArray, types::Int32Type};
use glance::board::{Game, Pool, parse_fen};

use super::movetext::{self, MATE};
use super::read::{Content, Rows};
use super::select::{Filter, SelectError, wanted};
use super::shard::{self, GameHead, GameResult};
use super::{packed, rank_of};

/// Games shorter than this are not worth a place.
pub const SHORTEST: usize = 10;

/// What is to be kept of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// As it is written.
    pub bytes: Vec<u8>,
    /// Plies of a game, 1 for a position.
    pub plies: usize,
    /// Games with the same moves, and positions with the same men, are one.
    pub key: u64,
    /// Of two evaluations of a position the greater is kept: the deeper, then the better for the player to move.
    pub merit: (u8, i16),
    /// Ratings that nobody has, left out.
    pub absurd_ratings: u8,
}

/// What becomes of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is a record.
    Kept(Record),
    /// The predicate did not want it.
    NotWanted,
    /// Too few plies.
    Short,
    /// Another game, or from another starting position.
    Variant,
    /// It cannot be read.
    Bad(String),
}

/// Looks at every row. The numbers are those of the rows in the file, from 0.
///
/// # Errors
/// When the predicate cannot be computed.
pub fn convert(rows: &Rows, content: Content, filter: Option<&Filter>) -> Result<Vec<Fate>, SelectError> {
    let mask = filter.map(|f| f.mask(&rows.batch)).transpose()?;
    let cells = Cells::new(&rows.batch);
    let mut fates: Vec<Fate> = (0..rows.batch.num_rows())
        .map(|row| {
            if !wanted(mask.as_ref(), row) {
                return Fate::NotWanted;
            }
            let fate = match content {
                Content::Games => game(&cells, row),
                Content::Evaluations => position(&cells, row),
            };
            fate.unwrap_or_else(Fate::Bad)
        })
        .collect();
    for (row, reason) in &rows.bad {
        fates[*row] = Fate::Bad(reason.clone());
    }
    Ok(fates)
}

/// The columns of a batch by their names.
struct Cells<'a> {
    batch: &'a RecordBatch,
}

impl<'a> Cells<'a> {
    fn new(batch: &'a RecordBatch) -> Self {
        Cells { batch }
    }

    fn text(&self, name: &str, row: usize) -> &'a str {
        let column: Option<&StringArray> = self.batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
        column.filter(|c| c.is_valid(row)).map_or("", |c| c.value(row))
    }

    fn number(&self, name: &str, row: usize) -> Option<i32> {
        let column = self.batch.column_by_name(name)?.as_primitive_opt::<Int32Type>()?;
        column.is_valid(row).then(|| column.value(row))
    }
}

fn pool(site: &str, bots: bool) -> Pool {
    if bots { Pool::Engine } else { Pool::of_site(site).unwrap_or(Pool::Otb) }
}

/// "600+5" to (600, 5); anything else is unknown.
fn time_control(text: &str) -> Option<(u16, u8)> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    Some((base.parse().ok().filter(|&b| b != u16::MAX)?, increment.parse().ok().filter(|&i| i != u8::MAX)?))
}

fn game(cells: &Cells, row: usize) -> Result<Fate, String> {
    let variant = cells.text("Variant", row);
    if !(variant.is_empty() || variant.eq_ignore_ascii_case("standard")) || !cells.text("FEN", row).is_empty() {
        return Ok(Fate::Variant);
    }
    let text = cells.text("movetext", row);
    if text.trim().is_empty() {
        // Abandoned before the first move.
        return Ok(Fate::Short);
    }
    let moves = movetext::parse(text).map_err(|e| e.to_string())?;
    if moves.ranks.len() < SHORTEST {
        return Ok(Fate::Short);
    }
    let bots = cells.text("WhiteTitle", row) == "BOT" && cells.text("BlackTitle", row) == "BOT";
    let ratings = ["WhiteElo", "BlackElo"].map(|name| cells.number(name, row));
    let sane = |rating: Option<i32>| rating.filter(|r| (100..=4000).contains(r)).map(|r| r as u16);
    let head = GameHead {
        result: match cells.text("Result", row) {
            "1-0" => GameResult::White,
            "1/2-1/2" => GameResult::Draw,
            "0-1" => GameResult::Black,
            _ => GameResult::Unknown,
        },
        pool: pool(cells.text("Site", row), bots),
        white: sane(ratings[0]),
        black: sane(ratings[1]),
        time_control: time_control(cells.text("TimeControl", row)),
    };
    // Zero is how some write "unknown".
    let absurd_ratings = ratings.iter().filter(|&&r| r.is_some_and(|r| r != 0) && sane(r).is_none()).count() as u8;
    Ok(Fate::Kept(Record {
        bytes: shard::encode_game(&head, &moves),
        plies: moves.ranks.len(),
        key: game_key(&moves.ranks),
        merit: (0, 0),
        absurd_ratings,
    }))
}

fn position(cells: &Cells, row: usize) -> Result<Fate, String> {
    let position = parse_fen(cells.text("fen", row)).map_err(|e| e.to_string())?;
    let first = cells.text("line", row).split(' ').next().unwrap_or_default();
    let m = Game::new(position.clone()).parse_uci(first).map_err(|e| e.to_string())?;
    let eval = match (cells.number("cp", row), cells.number("mate", row)) {
        (_, Some(n)) if n < 0 => -MATE + n.unsigned_abs().min(999) as i16,
        (_, Some(n)) => MATE - n.min(999) as i16,
        (Some(cp), None) => cp.clamp(-30_000, 30_000) as i16,
        (None, None) => return Err("neither cp nor mate".into()),
    };
    let depth = cells.number("depth", row).unwrap_or(0).clamp(0, 255) as u8;
    let rank = rank_of(&position, m);
    let bytes = shard::encode_position(&position, rank, eval, depth).ok_or("more than 32 men")?;
    let for_mover = shakmaty::Position::turn(&position).fold_wb(eval, -eval);
    Ok(Fate::Kept(Record {
        key: position_key(&bytes),
        bytes: bytes.to_vec(),
        plies: 1,
        merit: (depth, for_mover),
        absurd_ratings: 0,
    }))
}

/// What positions are told apart by, from the record of one.
pub fn position_key(record: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    record[..packed::BYTES].hash(&mut hasher);
    hasher.finish()
}

/// What games are told apart by, from their moves.
pub fn game_key(ranks: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    ranks.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_and_pools() {
        assert_eq!(time_control("600+5"), Some((600, 5)));
        assert_eq!(time_control("300"), Some((300, 0)));
        assert_eq!(time_control("40/7200:3600"), None);
        assert_eq!(time_control("-"), None);
        assert_eq!(pool("https://lichess.org/x", false), Pool::Lichess);
        assert_eq!(pool("Chess.com", false), Pool::ChessCom);
        assert_eq!(pool("TCEC", true), Pool::Engine);
        assert_eq!(pool("Wijk aan Zee", false), Pool::Otb);
    }
}
