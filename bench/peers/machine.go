package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// newReport describes where and how it is measured.
func newReport(s *settings) *report {
	r := &report{Date: time.Now().UTC().Truncate(time.Second), Command: s.command, Busy: s.burners, Hosts: "processes on the loopback interface",
		Machine: machine{Processors: runtime.NumCPU(), Model: processor(), Kernel: kernel(), Go: runtime.Version(), Nice: niceness()}}
	if s.apart {
		r.Hosts = "network namespaces with a cable each to one switch"
	} else {
		r.Missing = append(r.Missing, gap{"packets, and hosts that die or are cut off", "hosts are not network namespaces (run as root, with iproute2 and util-linux installed)"})
	}
	return r
}

// niceness is the priority of this process, which all others inherit.
func niceness() int {
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n // as the system call has it
}

// load is the load average of a minute; zero where the kernel does not say.
func load() (l float64) {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscan(string(b), &l)
	return l
}

// processor names the processors.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// kernel is its release.
func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return "Linux " + strings.TrimSpace(string(b))
}

// moduleVersion returns the version of a module with which a candidate is built.
func (s *settings) moduleVersion(candidate, path string) string {
	info, err := buildinfo.ReadFile(s.program(candidate))
	if err != nil {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "unknown"
}

// files returns all files of the report.
func (r *report) files() (map[string]string, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	files := map[string]string{resultsFile: string(b) + "\n", "peers.md": r.markdown(), "short.md": r.short()}
	for name, p := range r.plots() {
		files[name] = p
	}
	return files, nil
}

// resultsFile has all that the other files have.
const resultsFile = "peers.json"

// write writes all files.
func (r *report) write(dir string) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	failed := []error{os.MkdirAll(dir, 0o755)}
	for name, text := range files {
		failed = append(failed, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return errors.Join(failed...)
}

// readReport reads results that were recorded.
func readReport(dir string) (*report, error) {
	b, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return nil, err
	}
	r := &report{}
	return r, json.Unmarshal(b, r)
}
