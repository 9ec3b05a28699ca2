package run

// selfPath is this executable, also if another has taken its place.
const selfPath = "/proc/self/exe"
