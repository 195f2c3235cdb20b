//! The grammar: from tokens to a [`Spec`].

mod take;

use super::block::{Block, Param, TopologyNode, Value};
use super::files::FileLine;
use super::input::TokenInput;
use super::lexer::TokenKind;
use super::modules::{MODULES, foreign_package, module};
use super::names::{expected_name, numbered};
use super::spec::{ComponentInstance, Spec};
use iopilot_block::InputError;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most names of a list, with its ranges expanded.
const MAX_NAMES: u64 = 1 << 16;

/// A word and its place.
type Named = (Arc<str>, FileLine);

/// The parser.
pub(super) struct Grammar {
    input: TokenInput,
    spec: Spec,
    /// Every named block, including nested ones: the possible parents of a type.
    named: HashMap<Arc<str>, Arc<Block>>,
    instances: HashSet<Arc<str>>,
    /// Names seen so far, so that each is stored once.
    words: HashSet<Arc<str>>,
}

impl Grammar {
    pub(super) fn new(input: TokenInput) -> Self {
        Self { input, spec: Spec::default(), named: HashMap::new(), instances: HashSet::new(), words: HashSet::new() }
    }

    pub(super) fn read(mut self) -> Result<Spec, InputError> {
        while let Some(token) = self.input.peek()? {
            match self.input.text(&token) {
                "instantiate" => self.instantiate()?,
                "topology" => self.topology()?,
                _ => self.top_level_block()?,
            }
        }
        self.spec.files = self.input.files;
        Ok(self.spec)
    }

    /// `type name { ... }`
    fn top_level_block(&mut self) -> Result<(), InputError> {
        const WHAT: &str = "`type name {`, `instantiate`, `topology` or `source`";
        let kind = self.word("", WHAT)?;
        let name = self.word("", &format!("a name behind the type {}", kind.0))?;
        let block = self.block(kind, Some(name))?;
        self.define(&block, true);
        Ok(())
    }

    /// Registers a named block; a second block of the same name is ignored with a warning.
    fn define(&mut self, block: &Arc<Block>, top_level: bool) {
        let Some(name) = block.name.clone() else { return };
        if let Some(first) = self.named.get(&name) {
            let got = format!("a second {}", block.title());
            let expected = format!("one; the first, of line {}, stays", first.place.line());
            let files = &self.input.files;
            self.spec.warnings.push(files.refuse(block.place, name.to_string(), got, expected));
            return;
        }
        self.named.insert(name, Arc::clone(block));
        if top_level {
            self.spec.blocks.push(Arc::clone(block));
        }
    }

    /// The `{ ... }` of a block.
    fn block(&mut self, (kind, place): Named, name: Option<Named>) -> Result<Arc<Block>, InputError> {
        let (module, mut params) = match (module(&kind), self.named.get(&kind)) {
            (Some(module), _) => (module, Vec::new()),
            (None, Some(parent)) => (parent.module, parent.params.clone()),
            (None, None) => {
                let known = MODULES.iter().copied().chain(self.named.keys().map(|k| &**k));
                return Err(self.unknown_type(
                    (kind, place),
                    "type",
                    "a module or the name of an earlier block",
                    known,
                ));
            }
        };
        self.mark(b'{', "", "{ and the parameters")?;
        let inherited = params.len();
        let mut own: HashMap<Arc<str>, FileLine> = HashMap::new();
        let mut positions: HashMap<Arc<str>, usize> = params.iter().map(|p| p.name.clone()).zip(0..).collect();
        if !self.at_mark(b'}')? {
            loop {
                for param in self.parameter()? {
                    if let Some(first) = own.insert(param.name.clone(), param.place) {
                        let expected = format!("it once; line {} has it already", first.line());
                        let field = param.name.to_string();
                        return Err(self.input.files.refuse(param.place, field, "it again", expected));
                    }
                    match positions.get(&param.name) {
                        Some(&at) if at < inherited => params[at] = param,
                        _ => {
                            positions.insert(param.name.clone(), params.len());
                            params.push(param);
                        }
                    }
                }
                if !self.at_mark(b',')? {
                    break;
                }
                self.input.next()?;
            }
        }
        self.mark(b'}', "", "`,` and a parameter, or }")?;
        Ok(Arc::new(Block { module, name: name.map(|n| n.0), place, params }))
    }

    /// Reports an unknown type, or one of a package that is not simulated.
    fn unknown_type<'a>(
        &self,
        (kind, place): Named,
        field: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> InputError {
        let expected = match foreign_package(&kind) {
            Some(package) => format!("a module of DiskSim 4.0 itself; not simulated: {package}"),
            None => expected_name(what, &kind, known),
        };
        self.input.files.refuse(place, field, &*kind, expected)
    }

    /// `name = value` or `[ name, name ] = value`.
    fn parameter(&mut self) -> Result<Vec<Param>, InputError> {
        let names = if self.at_mark(b'[')? {
            let names = self.names("")?;
            self.mark(b'=', "", "= behind the list of parameters")?;
            names
        } else {
            vec![self.parameter_name()?]
        };
        let field = names.first().map_or_else(String::new, |n| n.0.to_string());
        let (_, value) = self.value(&field)?;
        let value = Arc::new(value);
        Ok(names.into_iter().map(|(name, place)| Param { name, place, value: Arc::clone(&value) }).collect())
    }

    /// The words up to a `=`.
    fn parameter_name(&mut self) -> Result<Named, InputError> {
        let (first, place) = self.any_word("", "a parameter")?;
        let mut name = first;
        while !self.at_mark(b'=')? {
            let (word, _) = self.any_word(&name, "= and a value")?;
            name.push(' ');
            name.push_str(&word);
        }
        self.input.next()?;
        Ok((self.keep(&name), place))
    }

    /// A value and its place.
    fn value(&mut self, field: &str) -> Result<(FileLine, Value), InputError> {
        const WHAT: &str = "a number, a word, a list or a block";
        let Some(token) = self.input.peek()? else { return Err(self.input.unexpected(field, WHAT)) };
        let value = match token.kind {
            TokenKind::Int(value) => Value::Int(value),
            TokenKind::Float(value) => Value::Float(value),
            TokenKind::Mark(b'[') => return Ok((token.place, self.list(field)?)),
            TokenKind::Word if !self.is_reserved(&token) => return self.word_or_block(field),
            TokenKind::Huge => return Err(self.input.unexpected(field, "a number that fits 64 bits")),
            _ => return Err(self.input.unexpected(field, WHAT)),
        };
        self.input.next()?;
        Ok((token.place, value))
    }

    /// A word, `type { ... }`, `type name { ... }` or `type name [ ... ]`.
    fn word_or_block(&mut self, field: &str) -> Result<(FileLine, Value), InputError> {
        let first = self.word(field, "a value")?;
        let place = first.1;
        if self.at_mark(b'{')? {
            return Ok((place, Value::Block(self.block(first, None)?)));
        }
        let Some(token) = self.input.peek()? else { return Ok((place, Value::Word(first.0))) };
        if token.kind != TokenKind::Word || self.input.text(&token) == ".." || self.is_reserved(&token) {
            return Ok((place, Value::Word(first.0)));
        }
        let name = self.word(field, "a name")?;
        if self.at_mark(b'[')? {
            return Ok((place, Value::Node(Arc::new(self.node_below(first, name)?))));
        }
        if !self.at_mark(b'{')? {
            let expected = format!("one word; or `{} {} {{` and a block", first.0, name.0);
            return Err(self.input.unexpected(field, &expected));
        }
        let block = self.block(first, Some(name))?;
        self.define(&block, false);
        Ok((place, Value::Block(block)))
    }

    /// `[ value, name .. name, ... ]`
    fn list(&mut self, field: &str) -> Result<Value, InputError> {
        let open = self.mark(b'[', field, "[")?;
        let mut values = Vec::new();
        if !self.at_mark(b']')? {
            loop {
                let (place, value) = self.value(field)?;
                if self.at_range()? {
                    let names = self.range(field, place, &value, values.len())?;
                    values.extend(names.into_iter().map(|name| (place, Value::Word(name))));
                } else {
                    values.push((place, value));
                }
                if !self.at_mark(b',')? {
                    break;
                }
                self.input.next()?;
            }
        }
        let expected = format!("`,` and a value, or ] for the list of line {}", open.line());
        self.mark(b']', field, &expected)?;
        Ok(Value::List(values))
    }

    fn at_range(&mut self) -> Result<bool, InputError> {
        let token = self.input.peek()?;
        Ok(token.is_some_and(|t| t.kind == TokenKind::Word && self.input.text(&t) == ".."))
    }

    /// The names of `first .. last`. With the `before` names already in the list, they must not exceed its bound.
    fn range(
        &mut self,
        field: &str,
        place: FileLine,
        first: &Value,
        before: usize,
    ) -> Result<Vec<Arc<str>>, InputError> {
        self.input.next()?;
        let (last, _) = self.any_word(field, "the last name of a range")?;
        let bounds = match first {
            Value::Word(first) => numbered(first).zip(numbered(&last)),
            _ => None,
        };
        let got = || format!("{} .. {last}", first.describe());
        let Some(((prefix, from), (_, to))) = bounds.filter(|((p, from), (q, to))| p == q && from <= to) else {
            let expected = "two names that differ in the number at their end, the lower one first";
            return Err(self.input.files.refuse(place, field, got(), expected));
        };
        if to - from >= MAX_NAMES.saturating_sub(before as u64) {
            let expected = format!("at most {MAX_NAMES} names in a list");
            return Err(self.input.files.refuse(place, field, got(), expected));
        }
        Ok((from..=to).map(|i| Arc::from(format!("{prefix}{i}"))).collect())
    }

    /// `[ name, name .. name ]`; names of parameters may have several words.
    fn names(&mut self, field: &str) -> Result<Vec<Named>, InputError> {
        self.mark(b'[', field, "[ and names")?;
        let mut names = Vec::new();
        loop {
            let (mut name, place) = self.any_word(field, "a name")?;
            while !self.at_mark(b',')? && !self.at_mark(b']')? && !self.at_range()? {
                let (word, _) = self.any_word(field, "`,` and a name, or ]")?;
                name.push(' ');
                name.push_str(&word);
            }
            if self.at_range()? {
                let first = Value::Word(Arc::from(name));
                let range = self.range(field, place, &first, names.len())?;
                names.extend(range.into_iter().map(|name| (name, place)));
            } else {
                names.push((self.keep(&name), place));
            }
            if !self.at_mark(b',')? {
                break;
            }
            self.input.next()?;
        }
        self.mark(b']', field, "`,` and a name, or ]")?;
        Ok(names)
    }

    /// `instantiate [ names ] as block`
    fn instantiate(&mut self) -> Result<(), InputError> {
        const FIELD: &str = "instantiate";
        self.input.next()?;
        let names = self.names(FIELD)?;
        match self.input.peek()? {
            Some(token) if self.input.text(&token) == "as" => self.input.next()?,
            _ => return Err(self.input.unexpected(FIELD, "`as` and the name of a block")),
        };
        let (block, place) = self.word(FIELD, "the name of a block")?;
        let Some(block) = self.named.get(&block).cloned() else {
            let known = self.named.keys().map(|k| &**k);
            let expected = expected_name("the name of an earlier block", &block, known);
            return Err(self.input.files.refuse(place, FIELD, &*block, expected));
        };
        for (name, place) in names {
            if name.contains(' ') {
                return Err(self.input.files.refuse(place, FIELD, &*name, "names of one word, with commas between"));
            }
            if !self.instances.insert(name.clone()) {
                let expected = "each component once; it is there already";
                return Err(self.input.files.refuse(place, FIELD, &*name, expected));
            }
            self.spec.instances.push(ComponentInstance { name, place, block: Arc::clone(&block) });
        }
        Ok(())
    }

    /// `topology type name [ ... ]`
    fn topology(&mut self) -> Result<(), InputError> {
        const FIELD: &str = "topology";
        let Some(token) = self.input.next()? else { return Ok(()) };
        if self.spec.topology.is_some() {
            return Err(self.input.files.refuse(token.place, FIELD, "a second one", "one topology"));
        }
        let kind = self.word(FIELD, "a module and a component")?;
        let name = self.word(FIELD, "a component")?;
        self.spec.topology = Some(self.node_below(kind, name)?);
        Ok(())
    }

    /// The `[ type name [ ... ], ... ]` below a component.
    fn node_below(&mut self, (kind, place): Named, name: Named) -> Result<TopologyNode, InputError> {
        const FIELD: &str = "topology";
        let Some(module) = module(&kind) else {
            return Err(self.unknown_type((kind, place), FIELD, "a module", MODULES.iter().copied()));
        };
        self.mark(b'[', FIELD, "[ and what is attached, or []")?;
        let mut children = Vec::new();
        if !self.at_mark(b']')? {
            loop {
                let kind = self.word(FIELD, "a module and a component")?;
                let name = self.word(FIELD, "a component")?;
                children.push(self.node_below(kind, name)?);
                if !self.at_mark(b',')? {
                    break;
                }
                self.input.next()?;
            }
        }
        self.mark(b']', FIELD, "`,` and a component, or ]")?;
        Ok(TopologyNode { module, name: name.0, place, children })
    }
}
