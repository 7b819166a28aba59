//! Several machines train one network: here two, on two ports of this one.

mod common;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use burn::backend::Autodiff;
use common::{Folder, recipe, seeded, shards, weights};
use glance::network::{Config, Precision, save};
use glance_trainer::data::mixture::Mixture;
use glance_trainer::train::checkpoint::State;
use glance_trainer::train::machines::Place;
use glance_trainer::train::recipe::Recipe;
use glance_trainer::train::run::{Options, TrainError, train};
use glance_trainer::train::step::Split;

type B = Autodiff<burn_flex::Flex>;

/// An address that nobody listens on. Its port is another one each time, and below those that systems choose themselves: a follower that
/// asks before its leader is there could be given the leader's port to ask from.
fn free() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 20_000) as u16;
    loop {
        let address = format!("127.0.0.1:{}", first + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000);
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

struct Machine<'a> {
    folder: &'a Path,
    name: &'a str,
    place: Place,
    workers: usize,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Machine<'a> {
    fn new(folder: &'a Path, name: &'a str, place: Place) -> Machine<'a> {
        Machine { folder, name, place, workers: 1, interrupted: Arc::default() }
    }

    fn train(&self, recipe: &Recipe) -> Result<State, TrainError> {
        let mixture = Mixture::open(self.folder, &recipe.mixture(), recipe.data.augmentation.clone()).expect("shards");
        let options = Options {
            run: self.folder.join(self.name),
            // Only who leads, or is alone, says where to begin.
            init: (!matches!(self.place, Place::Follows { .. })).then(|| self.folder.join("init.safetensors")),
            split: Split { workers: self.workers, micro: 4 },
            loaders: 1,
            every: 1e6,
            plain: true,
            place: self.place.clone(),
            backend: "flex".into(),
            interrupted: self.interrupted.clone(),
        };
        train::<B>(recipe, &options, Arc::new(mixture), &[], &[Default::default()])
    }
}

/// Follows a leader in this process, who is not to wait for ever if that fails.
fn along(follower: &Machine, leader: &Machine, recipe: &Recipe) -> Result<State, TrainError> {
    let end = follower.train(recipe);
    if end.is_err() {
        leader.interrupted.store(true, Ordering::Relaxed);
    }
    end
}

/// Waits for the first figures of a run, or its end.
fn until_it_trains(run: &Path, over: &mut dyn FnMut() -> bool) {
    let metrics = run.join("metrics.csv");
    while !std::fs::read_to_string(&metrics).is_ok_and(|t| t.lines().count() >= 2) && !over() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn begun(name: &str) -> Folder {
    let folder = Folder::new(name);
    shards(&folder.0);
    let network = seeded::<burn_flex::Flex>(&Config::tiny(), 1);
    folder.write("init.safetensors", save(&network, Precision::Full).expect("saved"));
    folder
}

fn leads(address: &str) -> Place {
    Place::Leads { address: address.to_owned(), machines: 2 }
}

fn follows(address: &str) -> Place {
    Place::Follows { address: address.to_owned() }
}

#[test]
fn two_machines_train_what_one_does_to_the_last_bit() {
    let folder = begun("machines");
    let lone = Machine { workers: 2, ..Machine::new(&folder.0, "lone", Place::Alone) };
    // In two sessions: the second goes on from the leader's checkpoint, whoever leads.
    for (steps, leader, follower) in [(20, "a", "b"), (32, "b", "c")] {
        lone.train(&recipe(steps)).expect("trains");
        let address = free();
        let (leader, follower) =
            (Machine::new(&folder.0, leader, leads(&address)), Machine::new(&folder.0, follower, follows(&address)));
        let state = std::thread::scope(|scope| {
            let following = scope.spawn(|| along(&follower, &leader, &recipe(steps)));
            let led = leader.train(&recipe(steps)).expect("leads");
            assert_eq!(following.join().expect("no panic").expect("follows").step, steps);
            led
        });
        assert_eq!(state.step, steps);
        assert!(weights(&folder.0.join(leader.name)) == weights(&folder.0.join(follower.name)), "both keep the same");
    }
    assert!(weights(&folder.0.join("lone")) == weights(&folder.0.join("c")), "what one machine learns");
}

#[test]
fn who_trains_something_else_is_refused_and_others_are_waited_for() {
    let folder = begun("refused");
    let address = free();
    let leader = Machine::new(&folder.0, "a", leads(&address));
    let interrupted = leader.interrupted.clone();
    std::thread::scope(|scope| {
        let leading = scope.spawn(|| leader.train(&recipe(5)));
        // Somebody who speaks of other things, before the one that is waited for.
        let mut other = recipe(5);
        other.training.learning_rate = 0.5;
        let error = Machine::new(&folder.0, "b", follows(&address)).train(&other).expect_err("another rate");
        assert!(
            error.to_string().contains("recipe.training.learning_rate is 0.5 here and 0.003 at the leader"),
            "{error}"
        );
        let mut stray = TcpStream::connect(&address).expect("it listens");
        std::io::Write::write_all(&mut stray, &[255; 64]).expect("written");
        std::thread::sleep(Duration::from_millis(300));
        assert!(!leading.is_finished(), "it waits on");
        interrupted.store(true, Ordering::Relaxed);
        let error = leading.join().expect("no panic").expect_err("interrupted");
        assert_eq!(error.to_string(), "interrupted while waiting for other machines");
    });
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let error = Machine::new(&folder.0, "a", leads(&address)).train(&recipe(5)).expect_err("taken");
    assert!(error.to_string().starts_with(&format!("{address}: cannot listen there")), "{error}");
    let error = Machine::new(&folder.0, "b", follows("nowhere")).train(&recipe(5)).expect_err("no address");
    assert!(error.to_string().starts_with("nowhere: no leader answered there within 0 s"), "{error}");
    let error =
        Machine::new(&folder.0, "a", Place::Leads { address, machines: 17 }).train(&recipe(5)).expect_err("too many");
    assert_eq!(error.to_string(), "17 machines for batches of 16 positions: 2 to 16 are allowed");
}

#[test]
fn anybodys_interruption_stops_all_at_the_same_step() {
    let folder = begun("stopped");
    let address = free();
    let (leader, follower) =
        (Machine::new(&folder.0, "a", leads(&address)), Machine::new(&folder.0, "b", follows(&address)));
    let steps = 1_000_000;
    std::thread::scope(|scope| {
        let leading = scope.spawn(|| leader.train(&recipe(steps)));
        let following = scope.spawn(|| along(&follower, &leader, &recipe(steps)));
        until_it_trains(&folder.0.join("b"), &mut || leading.is_finished());
        follower.interrupted.store(true, Ordering::Relaxed);
        let led = leading.join().expect("no panic").expect("leads").step;
        let followed = following.join().expect("no panic").expect("follows").step;
        assert_eq!(led, followed);
        assert!((20..steps).contains(&led), "{led}");
    });
    assert!(weights(&folder.0.join("a")) == weights(&folder.0.join("b")));
}

#[test]
fn a_machine_that_is_killed_is_named() {
    let folder = begun("killed");
    let (address, recipe) = (free(), recipe(1_000_000));
    folder.write("recipe.toml", toml::to_string(&recipe).expect("serialises"));
    let leader = Machine::new(&folder.0, "a", leads(&address));
    let error = std::thread::scope(|scope| {
        let leading = scope.spawn(|| leader.train(&recipe));
        let mut follower = Command::new(env!("CARGO_BIN_EXE_glance-trainer"))
            .current_dir(&folder.0)
            .args(["train", "--recipe", "recipe.toml", "--data", ".", "--run", "b", "--plain", "--follow", &address])
            .spawn()
            .expect("it starts");
        let mut gone = || !matches!(follower.try_wait(), Ok(None));
        until_it_trains(&folder.0.join("a"), &mut gone);
        if gone() {
            leader.interrupted.store(true, Ordering::Relaxed);
        }
        follower.kill().expect("killed");
        follower.wait().expect("gone");
        leading.join().expect("no panic").expect_err("nobody to train with").to_string()
    });
    assert!(error.starts_with("machine 1 (127.0.0.1:") && error.contains("went away"), "{error}");
    // What it has is where it can go on from.
    assert!(Machine::new(&folder.0, "a", Place::Alone).train(&common::recipe(1)).is_ok());
}
