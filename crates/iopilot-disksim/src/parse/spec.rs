//! [`Spec`]: the content of a parameter file.

use super::block::{Block, TopologyNode};
use super::files::{FileLine, ParameterFiles};
use super::grammar::Grammar;
use super::input::TokenInput;
use iopilot_block::InputError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A parameter file and its included files.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The files, for messages and for finding the data files that parameters name.
    pub files: ParameterFiles,
    /// The named blocks at the top level, in order; the first of several with one name.
    pub blocks: Vec<Arc<Block>>,
    /// The components, in the order of instantiation, which numbers the devices.
    pub instances: Vec<ComponentInstance>,
    /// The topology, if the file has one.
    pub topology: Option<TopologyNode>,
    /// Harmless oddities, each in one line.
    pub warnings: Vec<InputError>,
}

/// A component: `instantiate [ name ] as block`.
#[derive(Clone, Debug)]
pub struct ComponentInstance {
    /// Its name.
    pub name: Arc<str>,
    /// The place of the name, or of the range it belongs to.
    pub place: FileLine,
    /// Its parameters, with the overrides that apply to it alone.
    pub block: Arc<Block>,
}

impl Spec {
    /// Reads a file. Included files, and later data files, are searched for in the folder of the file that names them,
    /// and then in the folders of the environment variable `LP_PATH`.
    ///
    /// # Errors
    /// Names the file, the line, what was found and what was expected.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        let search = std::env::var_os("LP_PATH").map(|paths| std::env::split_paths(&paths).collect());
        Self::load_with(path, search.unwrap_or_default())
    }

    /// As [`Spec::load`], with the folders `search` instead of those of `LP_PATH`.
    ///
    /// # Errors
    /// As [`Spec::load`].
    pub fn load_with(path: &Path, search: Vec<PathBuf>) -> Result<Self, InputError> {
        Grammar::new(TokenInput::from_file(path, ParameterFiles::new(search))?).read()
    }

    /// Reads a text called `name`. It can name other files only if `folder` is given.
    ///
    /// # Errors
    /// As [`Spec::load`].
    pub fn parse(text: &str, name: &str, folder: Option<&Path>) -> Result<Self, InputError> {
        Grammar::new(TokenInput::from_text(text, name, folder, ParameterFiles::default())).read()
    }

    /// The block called `name`.
    pub fn block(&self, name: &str) -> Option<&Arc<Block>> {
        self.blocks.iter().find(|b| b.name.as_deref() == Some(name))
    }

    /// The blocks that describe a module, in order.
    pub fn blocks_of<'a>(&'a self, module: &'a str) -> impl Iterator<Item = &'a Arc<Block>> {
        self.blocks.iter().filter(move |b| b.module == module)
    }

    /// The component called `name`.
    pub fn instance(&self, name: &str) -> Option<&ComponentInstance> {
        self.instances.iter().find(|i| &*i.name == name)
    }
}
