//! The words of Stoker: custom resources, conditions, names, and the contract between its parts.
