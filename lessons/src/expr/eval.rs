//! Tree and facts to value. Owns operators and member access; functions are in `functions.rs`.

use serde_json::Value;

use super::parse::{Expr, Op};
use super::{ExprError, Facts, functions, text};

pub(super) fn eval(expr: &Expr, facts: &Facts) -> Result<Value, ExprError> {
    match expr {
        Expr::Null => Ok(Value::Null),
        Expr::Bool(yes) => Ok(Value::Bool(*yes)),
        Expr::Number(x) => Ok(number(*x)),
        Expr::Text(s) => Ok(Value::String(s.clone())),
        Expr::Name(name) => facts.get(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = facts.keys().map(String::as_str).collect();
            ExprError::new(None, format!("no run is called `{name}` (there are: {})", known.join(", ")))
        }),
        Expr::Member(of, name) => member(&eval(of, facts)?, name),
        Expr::Index(of, by) => match (eval(of, facts)?, eval(by, facts)?) {
            (of, Value::String(name)) => member(&of, &name),
            (Value::Array(items), by) => index(&items, &by),
            (other, _) => Err(ExprError::new(None, format!("{} has no elements", kind(&other)))),
        },
        Expr::Call { name, at, args } => {
            let args = args.iter().map(|arg| eval(arg, facts)).collect::<Result<Vec<_>, _>>()?;
            functions::call(name, &args).map_err(|message| ExprError::new(Some(*at), message))
        }
        Expr::Not(of) => Ok(Value::Bool(!truth(&eval(of, facts)?)?)),
        Expr::Negate(of) => Ok(number(-float(&eval(of, facts)?)?)),
        // The right side of `and` and `or` is read only when it decides.
        Expr::Binary(Op::And, a, b) => Ok(Value::Bool(truth(&eval(a, facts)?)? && truth(&eval(b, facts)?)?)),
        Expr::Binary(Op::Or, a, b) => Ok(Value::Bool(truth(&eval(a, facts)?)? || truth(&eval(b, facts)?)?)),
        Expr::Binary(op, a, b) => binary(*op, &eval(a, facts)?, &eval(b, facts)?),
    }
}

fn binary(op: Op, a: &Value, b: &Value) -> Result<Value, ExprError> {
    Ok(match op {
        Op::Eq => Value::Bool(same(a, b)),
        Op::Ne => Value::Bool(!same(a, b)),
        Op::Lt => Value::Bool(float(a)? < float(b)?),
        Op::Le => Value::Bool(float(a)? <= float(b)?),
        Op::Gt => Value::Bool(float(a)? > float(b)?),
        Op::Ge => Value::Bool(float(a)? >= float(b)?),
        Op::Add => match (a, b) {
            (Value::String(a), b) => Value::String(format!("{a}{}", text(b))),
            _ => number(float(a)? + float(b)?),
        },
        Op::Sub => number(float(a)? - float(b)?),
        Op::Mul => number(float(a)? * float(b)?),
        Op::Div if float(b)? == 0.0 => return Err(ExprError::new(None, "division by zero")),
        Op::Div => number(float(a)? / float(b)?),
        Op::And | Op::Or => Value::Bool(truth(a)? && truth(b)?),
    })
}

/// Equality that does not care whether 3 was written 3 or 3.0.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn member(of: &Value, name: &str) -> Result<Value, ExprError> {
    let Value::Object(members) = of else {
        return Err(ExprError::new(None, format!("{} has no member `{name}`", kind(of))));
    };
    members.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = members.keys().map(String::as_str).collect();
        ExprError::new(None, format!("no member `{name}` (there are: {})", known.join(", ")))
    })
}

fn index(items: &[Value], by: &Value) -> Result<Value, ExprError> {
    let wanted = float(by)?;
    let found = (wanted >= 0.0 && wanted.fract() == 0.0).then(|| items.get(wanted as usize)).flatten();
    found
        .cloned()
        .ok_or_else(|| ExprError::new(None, format!("no element {wanted}: the list has {}", items.len())))
}

fn truth(value: &Value) -> Result<bool, ExprError> {
    value
        .as_bool()
        .ok_or_else(|| ExprError::new(None, format!("expected true or false, got {}", kind(value))))
}

pub(super) fn float(value: &Value) -> Result<f64, ExprError> {
    value.as_f64().ok_or_else(|| ExprError::new(None, format!("expected a number, got {}", kind(value))))
}

/// Whole numbers stay whole, so that they print without a point.
pub(super) fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 9.0e15 { Value::from(x as i64) } else { Value::from(x) }
}

pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the text {s:?}"),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
