//! Which rows of a file are wanted, as one SQL predicate over its columns, evaluated by DataFusion.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, cast::AsArray};
use arrow_schema::{DataType, Schema};
use datafusion::common::DFSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::prelude::{Expr, SessionConfig, SessionContext};

/// Why a predicate cannot be used on a file.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("--where \"{predicate}\": {reason}")]
pub struct SelectError {
    /// The predicate.
    pub predicate: String,
    /// What is wrong.
    pub reason: String,
}

/// A predicate, ready for batches that have at least its [columns](Selection::columns).
#[derive(Clone)]
pub struct Selection {
    predicate: String,
    context: SessionContext,
    expression: Expr,
    /// The columns that it looks at.
    pub columns: Vec<String>,
}

impl Selection {
    /// Understands a predicate such as `WhiteElo > 1800 and TimeControl like '600+%'` over the columns of a file. The
    /// names are written as in the file, capitals included.
    ///
    /// # Errors
    /// When it is no SQL, names a column that is not there, or is neither true nor false.
    pub fn new(predicate: &str, schema: &Schema) -> Result<Selection, SelectError> {
        let fail = |reason: String| SelectError {
            predicate: predicate.to_owned(),
            reason: reason.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        // Lichess's names have capitals, which SQL would make small.
        let config = SessionConfig::new().set_bool("datafusion.sql_parser.enable_ident_normalization", false);
        let context = SessionContext::new_with_config(config);
        let of_file = DFSchema::try_from(schema.clone()).map_err(|e| fail(e.strip_backtrace()))?;
        let expression = context.parse_sql_expr(predicate, &of_file).map_err(|e| fail(e.strip_backtrace()))?;
        let physical =
            context.create_physical_expr(expression.clone(), &of_file).map_err(|e| fail(e.strip_backtrace()))?;
        let kind = physical.data_type(schema).map_err(|e| fail(e.strip_backtrace()))?;
        if kind != DataType::Boolean {
            return Err(fail(format!("gives {kind}, a condition is expected")));
        }
        let mut columns: Vec<String> = collect_columns(&physical).into_iter().map(|c| c.name().to_owned()).collect();
        columns.sort();
        Ok(Selection { predicate: predicate.to_owned(), context, expression, columns })
    }

    /// The predicate for batches of these columns.
    ///
    /// # Errors
    /// When one that it looks at is missing.
    pub fn bind(&self, schema: &Schema) -> Result<Filter, SelectError> {
        let fail = |e: datafusion::error::DataFusionError| SelectError {
            predicate: self.predicate.clone(),
            reason: e.strip_backtrace(),
        };
        let of_batch = DFSchema::try_from(schema.clone()).map_err(fail)?;
        let expression = self.context.create_physical_expr(self.expression.clone(), &of_batch).map_err(fail)?;
        Ok(Filter { predicate: self.predicate.clone(), expression })
    }
}

impl std::fmt::Debug for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection").field("predicate", &self.predicate).finish_non_exhaustive()
    }
}

/// A predicate bound to the columns of batches.
#[derive(Clone, Debug)]
pub struct Filter {
    predicate: String,
    expression: Arc<dyn PhysicalExpr>,
}

impl Filter {
    /// For each row of a batch whether it is wanted; where that is unknown (an empty cell), it is not.
    ///
    /// # Errors
    /// When a value cannot be computed, such as a division by zero.
    pub fn mask(&self, batch: &RecordBatch) -> Result<BooleanArray, SelectError> {
        let fail = |reason: String| SelectError { predicate: self.predicate.clone(), reason };
        let value = self.expression.evaluate(batch).map_err(|e| fail(e.strip_backtrace()))?;
        let array = value.into_array(batch.num_rows()).map_err(|e| fail(e.strip_backtrace()))?;
        let mask = array.as_boolean_opt().ok_or_else(|| fail("no condition".into()))?;
        Ok(mask.iter().map(|wanted| Some(wanted == Some(true))).collect())
    }
}

/// The rows that a mask leaves.
pub fn wanted(mask: Option<&BooleanArray>, row: usize) -> bool {
    mask.is_none_or(|mask| row < mask.len() && mask.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};
    use arrow_schema::Field;

    fn batch() -> RecordBatch {
        let schema = Schema::new(vec![
            Field::new("WhiteElo", DataType::Int32, true),
            Field::new("TimeControl", DataType::Utf8, true),
        ]);
        let ratings = Int32Array::from(vec![Some(1700), Some(1900), None, Some(2500)]);
        let times = StringArray::from(vec!["600+5", "600+0", "600+0", "60+0"]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ratings), Arc::new(times)]).expect("two columns")
    }

    fn rows(predicate: &str) -> Vec<bool> {
        let batch = batch();
        let selection = Selection::new(predicate, &batch.schema()).expect(predicate);
        let filter = selection.bind(&batch.schema()).expect(predicate);
        filter.mask(&batch).expect(predicate).iter().flatten().collect()
    }

    #[test]
    fn predicates_choose_rows() {
        assert_eq!(rows("WhiteElo > 1800 and TimeControl like '600+%'"), [false, true, false, false]);
        assert_eq!(rows("WhiteElo > '1800'"), [false, true, false, true]);
        assert_eq!(rows("split_part(TimeControl, '+', 1) = '60' or WhiteElo is null"), [false, false, true, true]);
        let selection = Selection::new("WhiteElo between 1 and 2", &batch().schema()).expect("a condition");
        assert_eq!(selection.columns, ["WhiteElo"]);
    }

    #[test]
    fn what_is_no_condition_is_refused_in_one_line() {
        for predicate in ["WhiteElo >", "Elo > 3", "WhiteElo + 1", "drop table games", ""] {
            let error = Selection::new(predicate, &batch().schema()).expect_err(predicate).to_string();
            assert!(error.starts_with("--where") && !error.contains('\n'), "{error}");
        }
        let error = Selection::new("Elo > 3", &batch().schema()).expect_err("no such column").to_string();
        assert!(error.contains("Elo") && error.contains("WhiteElo"), "{error}");
    }
}
