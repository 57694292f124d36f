//! One network namespace: devices, addresses, routes, sysctls, and THE packet path through it.
