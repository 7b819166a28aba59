//! Recipes that say only how they differ from another one.

use std::path::Path;

use toml::{Table, Value};

use super::recipe::RecipeError;

/// Recipes that extend one another, at most.
const DEEPEST: usize = 8;

/// A recipe's table. With `extends = "other.toml"` (from the recipe's own folder) it is the other's, less what `leave_out` names
/// (`["network.trunk.smolgen"]`), with what the recipe says in its place: table by table, and key by key inside tables. What is claimed of
/// the other is not claimed of this one.
pub(super) fn read(path: &Path) -> Result<Table, RecipeError> {
    read_at(path, 0)
}

fn read_at(path: &Path, depth: usize) -> Result<Table, RecipeError> {
    let fail = |reason: String| RecipeError::read(path, reason);
    let text = std::fs::read_to_string(path).map_err(|e| RecipeError::read(path, e))?;
    let mut own: Table = toml::from_str(&text).map_err(|e| RecipeError::read(path, e))?;
    let left_out = own.remove("leave_out");
    let Some(other) = own.remove("extends") else {
        return match left_out {
            Some(_) => Err(fail("leave_out is allowed beside extends".into())),
            None => Ok(own),
        };
    };
    let Some(other) = other.as_str() else {
        return Err(fail(format!("extends is {other}: the file of another recipe is allowed")));
    };
    if depth == DEEPEST {
        return Err(fail(format!("extends is '{other}': {DEEPEST} recipes that extend one another are allowed")));
    }
    let mut base = read_at(&path.with_file_name(other), depth + 1)?;
    base.remove("claims");
    let names = left_out.unwrap_or(Value::Array(Vec::new()));
    let names = names.as_array().and_then(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    for name in names.ok_or_else(|| fail("leave_out: a list of keys with their tables is allowed".into()))? {
        leave_out(&mut base, name).ok_or_else(|| fail(format!("leave_out: '{name}' is not in '{other}'")))?;
    }
    lay_over(&mut base, own);
    Ok(base)
}

/// Takes `table.key` out.
fn leave_out(table: &mut Table, name: &str) -> Option<Value> {
    match name.split_once('.') {
        Some((first, rest)) => leave_out(table.get_mut(first)?.as_table_mut()?, rest),
        None => table.remove(name),
    }
}

fn lay_over(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
