// Package metrics gives Prometheus what the member and the agent know.
package metrics
