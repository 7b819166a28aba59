//! Syzygy tablebases: the embedded ones with three and four men, and any others.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use shakmaty::{Chess, Move, Position};
use shakmaty_syzygy::filesystem::{Filesystem, OsFilesystem, RandomAccessFile, ReadHint};
use shakmaty_syzygy::{self as syzygy, Dtz, Tablebase};

use crate::board::{Game, played};
use crate::evaluate::Wdl;
use crate::search::Endings;

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/tablebases");
/// The folder that the embedded files appear in. No such path can come from a user: it holds a NUL.
const FOLDER: &str = "\0embedded";

/// The operating system's files, and those inside the program.
struct Files(OsFilesystem);

struct Bytes(&'static [u8]);

impl RandomAccessFile for Bytes {
    fn read_at(&self, buf: &mut [u8], offset: u64, _: ReadHint) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|o| self.0.get(o..)).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

fn embedded(path: &Path) -> Option<io::Result<&'static [u8]>> {
    let name = path.strip_prefix(FOLDER).ok()?;
    Some(EMBEDDED.get_file(name).map(|f| f.contents()).ok_or_else(|| io::ErrorKind::NotFound.into()))
}

impl Filesystem for Files {
    fn regular_file_size(&self, path: &Path) -> io::Result<u64> {
        match embedded(path) {
            Some(bytes) => Ok(bytes?.len() as u64),
            None => self.0.regular_file_size(path),
        }
    }

    fn read_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        if path == Path::new(FOLDER) {
            return Ok(EMBEDDED.files().map(|f| path.join(f.path())).collect());
        }
        self.0.read_dir(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        match embedded(path) {
            Some(bytes) => Ok(Box::new(Bytes(bytes?))),
            None => self.0.open(path),
        }
    }
}

/// All tables known.
pub struct Tablebases {
    tables: Tablebase<Chess>,
}

/// What tablebases say of a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// 1 win, 0 draw, −1 loss for the player to move, the fifty-move rule counted in if asked for.
    pub wdl: i32,
    /// All moves that keep it, with the plies until it is certain, signed so that more is better.
    pub keeping: Vec<(Move, i32)>,
    /// The best moves that keep it. When winning and losing, the one by distance to zeroing; when drawn, all that draw.
    pub moves: Vec<Move>,
    /// Positions probed.
    pub probes: u64,
}

impl Tablebases {
    /// The embedded tables.
    pub fn embedded() -> Tablebases {
        let mut tables = Tablebase::with_filesystem(Arc::new(Files(OsFilesystem::new())));
        // Cannot fail: the files are part of the program, and a test probes every one of them.
        let _ = tables.add_directory(FOLDER);
        Tablebases { tables }
    }

    /// Adds the tables of a list of folders, separated as in `PATH`. Returns how many files were added.
    ///
    /// # Errors
    /// One line, when a folder or a table cannot be read, or no folder has a table; what came before it has been added.
    pub fn add(&mut self, folders: &str) -> Result<usize, String> {
        let fail = |path: &Path, error: io::Error| format!("SyzygyPath '{}': {error}", path.display());
        let named: Vec<PathBuf> = std::env::split_paths(folders).filter(|f| !f.as_os_str().is_empty()).collect();
        let mut added = 0;
        for folder in &named {
            for entry in std::fs::read_dir(folder).map_err(|error| fail(folder, error))? {
                let path = entry.map_err(|error| fail(folder, error))?.path();
                match self.tables.add_file(&path) {
                    Ok(()) => added += 1,
                    // By its name it is none.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
                    Err(error) => return Err(fail(&path, error)),
                }
            }
        }
        if added == 0 && !named.is_empty() {
            return Err(format!(
                "SyzygyPath '{folders}': no tables there, which are files as KQvKR.rtbw and KQvKR.rtbz"
            ));
        }
        Ok(added)
    }

    /// The most men that any table has.
    pub fn men(&self) -> usize {
        self.tables.max_pieces()
    }

    /// The tables up to a number of men, for a search.
    pub fn within(&self, limit: usize, fifty_move_rule: bool) -> Within<'_> {
        Within { tables: self, limit: limit.min(self.men()), fifty_move_rule }
    }

    /// The best of the allowed moves, if the tables know the position.
    pub fn probe(&self, position: &Chess, allowed: &[Move], limit: usize, fifty_move_rule: bool) -> Option<Verdict> {
        let men = position.board().occupied().count();
        if men > limit.min(self.men()) || position.castles().any() {
            return None;
        }
        // For each move, what it leads to for the mover: the outcome, and the plies until it is certain.
        let mut ranked = Vec::with_capacity(allowed.len());
        for &m in allowed {
            ranked.push((m, self.rank(position, m, fifty_move_rule)?));
        }
        let best = ranked.iter().map(|&(_, (wdl, _))| wdl).max()?;
        ranked.retain(|&(_, (wdl, _))| wdl == best);
        // Winning: as fast as possible. Losing: as slowly. The plies are signed so that more is better for both.
        let plies = ranked.iter().map(|&(_, (_, plies))| plies).max()?;
        let moves = ranked.iter().filter(|&&(_, (_, p))| best == 0 || p == plies).map(|&(m, _)| m).collect();
        let keeping = ranked.into_iter().map(|(m, (_, plies))| (m, plies)).collect();
        Some(Verdict { wdl: best, keeping, moves, probes: allowed.len() as u64 })
    }

    /// Outcome and signed plies of a move: the faster a win (the slower a loss), the larger.
    fn rank(&self, position: &Chess, m: Move, fifty_move_rule: bool) -> Option<(i32, i32)> {
        let after = played(position, m);
        if after.is_checkmate() {
            return Some((1, 0));
        }
        if after.is_stalemate() || after.is_insufficient_material() {
            return Some((0, 0));
        }
        let Dtz(dtz) = self.tables.probe_dtz(&after).ok()?.ignore_rounding();
        // A capture or pawn move that wins is worth its own ply: the counter starts again.
        let (dtz, clock) = (-dtz, after.halfmoves() as i32);
        let spoiled = fifty_move_rule && dtz.abs() + clock > 100;
        let wdl = if spoiled { 0 } else { dtz.signum() };
        let zeroing = m.is_zeroing();
        let plies = match (wdl, zeroing) {
            (0, _) => 0,
            // Progress by zeroing beats waiting: it counts as done at once.
            (1, true) => -1,
            (1, false) => -(dtz.abs() + 1),
            (_, true) => 1,
            (_, false) => dtz.abs() + 1,
        };
        Some((wdl, plies))
    }
}

/// Tables up to a number of men.
pub struct Within<'a> {
    tables: &'a Tablebases,
    limit: usize,
    fifty_move_rule: bool,
}

impl Endings for Within<'_> {
    /// Known just after a capture or a pawn's move only: later the fifty-move rule may spoil what the tables say.
    fn outcome(&self, game: &Game) -> Option<Wdl> {
        let position = game.position();
        let known = position.halfmoves() == 0 || !self.fifty_move_rule;
        if !known || position.board().occupied().count() > self.limit || position.castles().any() {
            return None;
        }
        let wdl = self.tables.tables.probe_wdl_after_zeroing(position).ok()?;
        Some(match wdl {
            syzygy::Wdl::Win => Wdl::WIN,
            syzygy::Wdl::Loss => Wdl::LOSS,
            syzygy::Wdl::CursedWin if !self.fifty_move_rule => Wdl::WIN,
            syzygy::Wdl::BlessedLoss if !self.fifty_move_rule => Wdl::LOSS,
            _ => Wdl::DRAW,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Game;
    use std::collections::HashSet;

    #[test]
    fn every_embedded_table_is_there() {
        let names: HashSet<_> = EMBEDDED.files().filter_map(|f| f.path().extension()).collect();
        assert!(names.len() >= 2);
        assert_eq!(EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "rtbw")).count(), 35);
        assert_eq!(EMBEDDED.files().filter(|f| f.path().extension().is_some_and(|e| e == "rtbz")).count(), 35);
        assert_eq!(Tablebases::embedded().men(), 4);
    }

    fn verdict(fen: &str, fifty: bool) -> Verdict {
        let game = Game::from_fen(fen).expect(fen);
        let legal = game.position().legal_moves();
        Tablebases::embedded().probe(game.position(), &legal, 7, fifty).expect(fen)
    }

    #[test]
    fn won_endings_are_won() {
        // King, bishop and knight against king is the longest of these: both sides by the tables.
        for fen in [
            "8/8/8/3k4/8/8/8/KBN5 w - - 0 1",
            "4k3/8/4K3/4P3/8/8/8/8 w - - 0 1",
            "8/3k4/8/8/8/8/1q6/5K1R b - - 0 1",
            "4k3/8/8/8/8/8/8/KQ5r w - - 0 1",
        ] {
            let mut game = Game::from_fen(fen).expect(fen);
            let tables = Tablebases::embedded();
            let (winner, first) = (game.position().turn(), verdict(fen, true));
            assert_eq!(first.wdl, 1, "{fen}");
            let mut plies = 0;
            while game.terminal().is_none() && plies < 200 {
                let legal = game.position().legal_moves();
                let v = tables.probe(game.position(), &legal, 7, true).expect("covered");
                assert_eq!(v.wdl, if game.position().turn() == winner { 1 } else { -1 });
                game.play(v.moves[0]);
                plies += 1;
            }
            assert_eq!(game.terminal(), Some(crate::board::Terminal::Checkmate), "{fen} after {plies}");
        }
    }

    #[test]
    fn the_fifty_move_rule_spoils_wins_only_when_asked() {
        let fen = "8/8/8/3k4/8/8/8/KBN5 w - - 60 90";
        assert_eq!(verdict(fen, true).wdl, 0);
        assert_eq!(verdict(fen, false).wdl, 1);
    }

    #[test]
    fn positions_outside_are_left_alone() {
        let tables = Tablebases::embedded();
        for fen in ["4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1"] {
            let game = Game::from_fen(fen).expect(fen);
            assert!(tables.probe(game.position(), &game.position().legal_moves(), 7, true).is_none());
        }
        let game = Game::from_fen("4k3/8/8/8/8/8/8/4K2R w - - 0 1").expect("legal");
        assert!(tables.probe(game.position(), &game.position().legal_moves(), 2, true).is_none());
    }

    #[test]
    fn folders_without_tables_and_damaged_tables_are_named() {
        let error = |folders: &str| Tablebases::embedded().add(folders).expect_err("no tables");
        assert!(error("/no/such/folder").contains("/no/such/folder"));
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let told = error(own);
        assert!(told.contains(own) && told.contains("no tables"), "{told}");
        let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/tablebases");
        let both = std::env::join_paths([own, tables]).expect("no separators");
        assert_eq!(Tablebases::embedded().add(both.to_str().expect("text")), Ok(70));
        assert_eq!(Tablebases::embedded().add(""), Ok(0));
        let folder = std::env::temp_dir().join(format!("glance-tables-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("KQPvKQ.rtbw"), [0; 100]).expect("written");
        let told = error(folder.to_str().expect("text"));
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(told.contains("KQPvKQ.rtbw"), "{told}");
    }
}
