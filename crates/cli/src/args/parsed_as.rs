//! Makes options a group of flags, so that a command has the options as a field.

/// Lets clap parse `$options` by parsing `$flags` and converting them with [`TryFrom`]. An error of the conversion is a usage
/// error.
macro_rules! parsed_as {
    ($options:ty, $flags:ty) => {
        impl clap::FromArgMatches for $options {
            fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
                let flags = <$flags as clap::FromArgMatches>::from_arg_matches(matches)?;
                Self::try_from(flags)
                    .map_err(|why| clap::Error::raw(clap::error::ErrorKind::ValueValidation, why))
            }

            fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
                *self = <Self as clap::FromArgMatches>::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl clap::Args for $options {
            fn augment_args(command: clap::Command) -> clap::Command {
                <$flags as clap::Args>::augment_args(command)
            }

            fn augment_args_for_update(command: clap::Command) -> clap::Command {
                <$flags as clap::Args>::augment_args_for_update(command)
            }
        }
    };
}

pub(crate) use parsed_as;
