//! What Stoker's tests stand on: a real Kubernetes, real git servers, an Ignition stand-in, faults.
