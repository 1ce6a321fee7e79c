// Package settings has no code: the packages below it hold what a platform team sets.
//
//   - config is the configuration file: one typed structure with the defaults, the limits and the messages of each
//     value. The package peer below it converts the flags and properties of the two operators that this one
//     replaces.
//   - policy are the rules of the platform: what a custom resource may create in which namespace. Their evaluation
//     is pure, and the webhook, the reconciler and sparkctl use the same.
//   - platformdefaults are the platform's defaults for specs: their configuration, its validation, and the choice
//     for the labels of a namespace. How they are merged into a spec is a matter of internal/dialect/platform.
//   - keptlogs are the settings of the logs that are kept, by the labels of a namespace.
//   - live is the present configuration of a process, including the settings that change while it runs.
//
// A setting has one home, which is its field in config. The values of the chart write that file,
// docs/configuration-file.md is compared with it by a test, and nothing else in the code is tuned by a constant that
// users might want to change.
//
// The packages read no custom resources, and import neither the engine nor the process. A value that cannot work is
// refused when the file is read, with its path and what to write; a change of a live setting that cannot work leaves
// the setting as it was, and is reported.
package settings
