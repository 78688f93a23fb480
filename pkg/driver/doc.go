// Package driver has the places where attempts run. A Driver starts one command with a clean environment and hands
// back a Process; when its Wait returns, nothing of it is left running, whatever it did to get away. Package choose has
// the table of all drivers; drivertest is the suite that each of them passes.
//
// Local runs commands as processes of this machine, in cells (package cell) where the machine can make them. Elsewhere it
// holds them on three leashes:
//
//   - every process is the leader of its own session and group, so that one signal reaches all that stayed;
//   - its environment carries SLUICE_LEASH, which descendants inherit; those that left the session are found by it;
//   - a watchdog shell waits for the executor's end, however sudden, and kills all that carries the leash. The kernel
//     kills the leader itself (PDEATHSIG) even when the watchdog is gone, and Reclaim sweeps what is left after a
//     restart.
//
// A process can still escape from the leashes: it must leave the session and also wipe its environment. Without cells Local
// is no wall against hostile code, which could as well kill the executor; then it refuses untrusted changes.
package driver
