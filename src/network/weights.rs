//! Weights files: safetensors with the config inside, as readable by Python as by us.

use std::rc::Rc;

use burn::tensor::DType;
use burn_store::{ModuleAdapter, ModuleSnapshot, SafetensorsStore, TensorSnapshot};
use safetensors::SafeTensors;
use thiserror::Error;

use super::config::{Config, ConfigError};
use super::kernels::Kernels;
use super::model::Network;

/// The largest weights file that is read.
pub const LARGEST: usize = 1 << 30;
const KEY: &str = "glance.config";

/// Why weights could not be read or written.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// Too large to be a network of ours.
    #[error("weights of {0} bytes: at most {LARGEST} are allowed")]
    TooLarge(usize),
    /// Not safetensors, or cut short.
    #[error("not a safetensors file: {0}")]
    Format(String),
    /// Safetensors of something else.
    #[error("safetensors without '{KEY}' in its metadata: weights made by glance-trainer are expected")]
    Foreign,
    /// The config inside cannot be read.
    #[error("config in the weights: {0}")]
    ConfigText(#[from] serde_json::Error),
    /// The config inside is impossible.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The tensors are not those that the config asks for.
    #[error("weights do not fit their config: {0}")]
    Tensors(String),
}

/// How weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Two bytes a weight: what is shipped.
    Half,
    /// Four bytes a weight: what training continues from.
    Full,
}

/// Casts every tensor to one type, on the way in or out.
#[derive(Clone)]
struct Cast(DType);

impl ModuleAdapter for Cast {
    fn adapt(&self, snapshot: &TensorSnapshot) -> TensorSnapshot {
        let Cast(to) = *self;
        if snapshot.dtype == to {
            return snapshot.clone();
        }
        let data = snapshot.clone_data_fn();
        TensorSnapshot::from_closure(
            Rc::new(move || Ok(data()?.convert_dtype(to))),
            to,
            snapshot.shape.clone(),
            snapshot.path_stack.clone().unwrap_or_default(),
            snapshot.container_stack.clone().unwrap_or_default(),
            snapshot.tensor_id.unwrap_or_default(),
        )
    }

    fn clone_box(&self) -> Box<dyn ModuleAdapter> {
        Box::new(self.clone())
    }
}

/// Reads the config out of a weights file, without touching the weights.
///
/// # Errors
/// When the bytes are not weights of ours or the config is impossible.
pub fn read_config(bytes: &[u8]) -> Result<Config, WeightsError> {
    if bytes.len() > LARGEST {
        return Err(WeightsError::TooLarge(bytes.len()));
    }
    // Checks the header, and that every tensor lies within the file.
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| WeightsError::Format(one_line(&e)))?;
    SafeTensors::deserialize(bytes).map_err(|e| WeightsError::Format(one_line(&e)))?;
    let text = metadata.metadata().as_ref().and_then(|m| m.get(KEY)).ok_or(WeightsError::Foreign)?;
    let config: Config = serde_json::from_str(text)?;
    config.check()?;
    Ok(config)
}

/// Builds the network that a weights file holds.
///
/// # Errors
/// As [`read_config`], and when the tensors do not fit the config.
pub fn load<B: Kernels>(bytes: &[u8], device: &B::Device) -> Result<Network<B>, WeightsError> {
    let config = read_config(bytes)?;
    check_size(&config, bytes.len())?;
    let mut network = Network::new(&config, device);
    let mut store =
        SafetensorsStore::from_bytes(Some(bytes.to_vec())).skip_enum_variants(true).with_from_adapter(Cast(DType::F32));
    network.load_from(&mut store).map_err(|e| WeightsError::Tensors(one_line(&e)))?;
    Ok(network)
}

/// A config may not ask for far more memory than its file has weights: at two bytes each, and none left out.
fn check_size(config: &Config, bytes: usize) -> Result<(), WeightsError> {
    let least = config.parameters().saturating_mul(2);
    if bytes < least {
        return Err(WeightsError::Tensors(format!("the file has {bytes} bytes, the config asks for at least {least}")));
    }
    Ok(())
}

/// Writes a network with its config.
///
/// # Errors
/// When the store refuses.
pub fn save<B: Kernels>(network: &Network<B>, precision: Precision) -> Result<Vec<u8>, WeightsError> {
    let dtype = match precision {
        Precision::Half => DType::F16,
        Precision::Full => DType::F32,
    };
    let mut store = SafetensorsStore::from_bytes(None)
        .skip_enum_variants(true)
        .metadata(KEY, serde_json::to_string(network.config())?)
        .with_to_adapter(Cast(dtype));
    network.save_into(&mut store).map_err(|e| WeightsError::Tensors(one_line(&e)))?;
    store.get_bytes().map_err(|e| WeightsError::Tensors(one_line(&e)))
}

/// An error of a library as one short line: it may end up in front of a GUI.
fn one_line(error: &impl std::fmt::Display) -> String {
    let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect()
}
