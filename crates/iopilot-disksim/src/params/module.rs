//! [`module!`]: a struct with the parameters of a module, and how each is read.

/// Defines a struct and its [`Module`](super::Module). Each field has a name and type, DiskSim's name of the parameter,
/// and a rule that reads it. An optional one also has a default.
macro_rules! module {
    ($(#[$meta:meta])* $name:ident = $module:literal {
        $($(#[$doc:meta])* $field:ident: $type:ty = $key:literal, $rule:expr $(, or $default:expr)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl crate::params::Module for $name {
            const MODULE: &'static str = $module;
            const PARAMETERS: &'static [&'static str] = &[$($key),*];

            fn read(
                files: &crate::parse::ParameterFiles,
                block: &crate::parse::Block,
            ) -> Result<Self, iopilot_block::InputError> {
                let fields = crate::params::fields::BlockFields::new(files, block, $module, Self::PARAMETERS)?;
                let read = Self { $($field: crate::params::module::field!(fields, $key, $rule $(, $default)?),)* };
                crate::params::fields::ModuleCheck::check(&read, &fields)?;
                Ok(read)
            }
        }
    };
}

/// One field of a struct that [`module!`] defines.
macro_rules! field {
    ($fields:ident, $key:literal, $rule:expr) => {
        $fields.need($key, $rule)?
    };
    ($fields:ident, $key:literal, $rule:expr, $default:expr) => {
        $fields.maybe($key, $rule)?.unwrap_or_else(|| $default)
    };
}
pub(super) use {field, module};
