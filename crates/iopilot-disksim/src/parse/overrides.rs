//! Overrides: changes by a command line, `component parameter value`.

use super::block::{Block, Param, Value};
use super::names::{expected_name, numbered};
use super::spec::Spec;
use iopilot_block::InputError;
use std::sync::Arc;

/// The field name of errors in overrides.
const FIELD: &str = "override";

impl Spec {
    /// Replaces a parameter of the components called `component`: a name, a range `disk1 .. disk16`, a prefix with any
    /// number `disk*`, or `*` for all that have the parameter. `parameter` is a name, or `Sub:name` for one nested
    /// block (`Scheduler:Scheduling policy`). Only parameters given in the file can be replaced, and only by a value of
    /// the same kind. A real parameter also takes a whole number.
    ///
    /// # Errors
    /// If no component matches, a matching one does not have the parameter, or the value is of another kind.
    pub fn override_parameter(&mut self, component: &str, parameter: &str, value: &str) -> Result<(), InputError> {
        let mut components = 0;
        let mut replaced = 0;
        for at in 0..self.instances.len() {
            if !matches(component, &self.instances[at].name) {
                continue;
            }
            components += 1;
            let block = Arc::clone(&self.instances[at].block);
            match replace(&block, parameter, value)? {
                Some(block) => {
                    self.instances[at].block = Arc::new(block);
                    replaced += 1;
                }
                // `*` selects the components that have the parameter.
                None if component == "*" => {}
                None => return Err(no_parameter(&block, parameter)),
            }
        }
        // Global, Stats, Proc and Synthio are components without an instance.
        for at in 0..self.blocks.len() {
            let block = &self.blocks[at];
            let is_component = AUTOMATIC.contains(&block.module) && block.name.as_deref() == Some(component);
            if !is_component {
                continue;
            }
            components += 1;
            let block = replace(block, parameter, value)?.ok_or_else(|| no_parameter(block, parameter))?;
            self.blocks[at] = Arc::new(block);
            replaced += 1;
        }
        if components == 0 {
            let names = self.instances.iter().map(|i| &*i.name);
            let expected = expected_name("a component, `disk1 .. disk16`, `disk*` or `*`", component, names);
            return Err(InputError::new(FIELD, component, expected));
        }
        if replaced == 0 {
            return Err(InputError::new(FIELD, parameter, "a parameter that some component has in the file"));
        }
        Ok(())
    }
}

/// Modules whose blocks are components under their own names.
const AUTOMATIC: [&str; 4] = ["disksim_global", "disksim_stats", "disksim_pf", "disksim_synthio"];

/// Whether the pattern of an override matches the component called `name`.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "*" || pattern == name {
        return true;
    }
    if let Some((first, last)) = pattern.split_once("..") {
        let bounds = (numbered(first.trim()), numbered(last.trim()), numbered(name));
        return match bounds {
            (Some((p, from)), Some((q, to)), Some((prefix, number))) => {
                p == prefix && q == prefix && (from..=to).contains(&number)
            }
            _ => false,
        };
    }
    pattern.strip_suffix('*').is_some_and(|prefix| numbered(name).is_some_and(|(p, _)| p == prefix))
}

fn no_parameter(block: &Block, parameter: &str) -> InputError {
    let known = block.params.iter().map(|p| &*p.name);
    let what = format!("a parameter that {} gives", block.title());
    InputError::new(FIELD, parameter, expected_name(&what, parameter, known))
}

/// The block with the parameter replaced; `None` if it does not have the parameter.
fn replace(block: &Block, parameter: &str, text: &str) -> Result<Option<Block>, InputError> {
    let (name, inner) = match parameter.split_once(':') {
        Some((name, inner)) => (name, Some(inner)),
        None => (parameter, None),
    };
    let Some(at) = block.params.iter().position(|p| &*p.name == name) else { return Ok(None) };
    let param = &block.params[at];
    let value = match (&*param.value, inner) {
        (Value::Block(nested), Some(inner)) => match replace(nested, inner, text)? {
            Some(nested) => Value::Block(Arc::new(nested)),
            None => return Err(no_parameter(nested, inner)),
        },
        (old, None) => converted(old, param, text)?,
        (_, Some(_)) => return Err(InputError::new(FIELD, parameter, format!("no `:`; {name} is no block"))),
    };
    let mut block = block.clone();
    block.params[at].value = Arc::new(value);
    Ok(Some(block))
}

/// `text` as a value of the same kind as `old`.
fn converted(old: &Value, param: &Param, text: &str) -> Result<Value, InputError> {
    let refuse = |expected: &str| InputError::new(&*param.name, text, expected);
    let number = || text.parse::<f64>().ok().filter(|v| v.is_finite());
    match old {
        Value::Word(_) if text.is_empty() || text.contains(char::is_whitespace) => Err(refuse("one word")),
        Value::Word(_) => Ok(Value::Word(Arc::from(text))),
        // A real number may be written without a decimal point. The module decides whether it accepts this one.
        Value::Int(_) | Value::Float(_) => match (text.parse(), number()) {
            (Ok(whole), _) => Ok(Value::Int(whole)),
            (_, Some(value)) => Ok(Value::Float(value)),
            _ => Err(refuse("a number")),
        },
        Value::List(_) | Value::Block(_) | Value::Node(_) => {
            Err(refuse("a parameter that is a number or a word; lists and blocks cannot be overridden"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "disksim_bus B { type = 1, Arbitration time = 0 }
        disksim_ctlr C { type = 1, Scheduler = disksim_ioqueue { Scheduling policy = 1 } }
        disksim_global Global { Init Seed = 1 }
        instantiate [ bus1 .. bus3 ] as B
        instantiate [ ctlr0 ] as C";

    fn with(component: &str, parameter: &str, value: &str) -> Result<Spec, String> {
        let mut spec = Spec::parse(SYSTEM, "s.parv", None).unwrap();
        spec.override_parameter(component, parameter, value).map_err(|e| e.to_string())?;
        Ok(spec)
    }

    fn arbitration(spec: &Spec) -> Vec<String> {
        let buses = spec.instances.iter().filter(|i| i.block.module == "disksim_bus");
        buses.map(|i| i.block.param("Arbitration time").unwrap().value.describe()).collect()
    }

    #[test]
    fn a_component_is_a_name_a_range_a_prefix_or_all() {
        let with = |component: &str| arbitration(&with(component, "Arbitration time", "0.5").unwrap());
        assert_eq!(with("bus2"), ["0", "0.5", "0"]);
        assert_eq!(with("bus2 .. bus9"), ["0", "0.5", "0.5"]);
        assert_eq!(with("bus*"), ["0.5", "0.5", "0.5"]);
        assert_eq!(with("*"), ["0.5", "0.5", "0.5"]);
    }

    #[test]
    fn a_nested_parameter_is_named_behind_its_block() {
        let spec = with("ctlr0", "Scheduler:Scheduling policy", "3").unwrap();
        let Value::Block(queue) = &*spec.instances[3].block.param("Scheduler").unwrap().value else { panic!() };
        assert_eq!(queue.param("Scheduling policy").unwrap().value.describe(), "3");
    }

    #[test]
    fn modules_that_need_no_instance_are_components_too() {
        let spec = with("Global", "Init Seed", "7").unwrap();
        assert_eq!(spec.block("Global").unwrap().param("Init Seed").unwrap().value.describe(), "7");
    }

    #[test]
    fn an_override_without_a_match_is_an_error() {
        assert_eq!(
            with("bsu1", "type", "2").unwrap_err(),
            "override: got bsu1, expected a component, `disk1 .. disk16`, `disk*` or `*`; did you mean `bus1`?"
        );
        assert_eq!(
            with("bus1", "Arbitratoin time", "2").unwrap_err(),
            "override: got Arbitratoin time, expected a parameter that disksim_bus B gives; did you mean `Arbitration time`?"
        );
        assert!(with("*", "Cache size", "2").unwrap_err().contains("some component has"));
        assert!(with("bus1", "type:x", "2").unwrap_err().contains("no `:`"));
        assert_eq!(with("bus1", "type", "fast").unwrap_err(), "type: got fast, expected a number");
        assert!(with("ctlr0", "Scheduler", "3").unwrap_err().contains("cannot be overridden"));
    }
}
