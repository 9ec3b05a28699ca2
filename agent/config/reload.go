package config

import (
	"reflect"
	"slices"
)

// reloadable are the keys that can change while an agent runs. Within council, http and socket, some keys can.
var reloadable = []string{"default_group", "tags", "leases", "lease", "stop_grace", "limits", "log", "audit", "rights", "addresses", "key_file", "old_key_files", "private_key_file"}

// Fixed lists the keys in which a new file differs and that only a restart puts into force.
func (f *File) Fixed(next *File) []string {
	var out []string
	x, y := reflect.ValueOf(*f), reflect.ValueOf(*next)
	for i := range x.NumField() {
		key := x.Type().Field(i).Tag.Get("yaml")
		if key == "" || key == "council" || key == "http" || key == "socket" || slices.Contains(reloadable, key) {
			continue
		}
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			out = append(out, key)
		}
	}
	if !reflect.DeepEqual(withoutKeys(f.Council), withoutKeys(next.Council)) {
		out = append(out, "council")
	}
	if f.Socket.Path != next.Socket.Path {
		out = append(out, "socket.path")
	}
	if f.HTTP.Listen != next.HTTP.Listen {
		out = append(out, "http.listen")
	}
	if f.HTTP.Probes != next.HTTP.Probes {
		out = append(out, "http.probes")
	}
	if (f.HTTP.TLS.Cert == "") != (next.HTTP.TLS.Cert == "") {
		out = append(out, "http.tls")
	}
	return out
}

// WithAgreed returns the file with what the next one says of things that members have agreed on. It counts for nothing but the comparison with
// that, and as hints where members are.
func (f *File) WithAgreed(next *File) *File {
	out := *f
	out.Council, out.Join = next.Council, next.Join
	out.Timing.LongestLease, out.Timing.Drift = next.Timing.LongestLease, next.Timing.Drift
	return &out
}

// ChangedAccess lists the keys in which a new file differs and that say who may do what.
func (f *File) ChangedAccess(next *File) []string {
	var out []string
	for _, k := range []struct {
		key  string
		x, y any
	}{{"rights", f.Rights, next.Rights}, {"addresses", f.Addresses, next.Addresses}, {"http.tokens", f.HTTP.Tokens, next.HTTP.Tokens}, {"http.tls", f.HTTP.TLS, next.HTTP.TLS},
		{"http.anonymous", f.HTTP.Anonymous, next.HTTP.Anonymous}, {"socket", f.Socket, next.Socket}, {"audit", f.Audit, next.Audit},
		{"key_file", f.KeyFile, next.KeyFile}, {"old_key_files", f.OldKeyFiles, next.OldKeyFiles}, {"private_key_file", f.PrivateKeyFile, next.PrivateKeyFile}} {
		if !reflect.DeepEqual(k.x, k.y) {
			out = append(out, k.key)
		}
	}
	return out
}

// With returns the file as it is in force after a reload: what can change is taken from the next one.
func (f *File) With(next *File) *File {
	out := *f
	out.DefaultGroup, out.Tags, out.StopGrace, out.Limits, out.Log = next.DefaultGroup, next.Tags, next.StopGrace, next.Limits, next.Log
	out.Audit, out.Rights, out.Addresses, out.Leases, out.Lease = next.Audit, next.Rights, next.Addresses, next.Leases, next.Lease
	out.KeyFile, out.OldKeyFiles, out.PrivateKeyFile, out.Council = next.KeyFile, next.OldKeyFiles, next.PrivateKeyFile, f.withKeys(next)
	out.Socket.Mode, out.Socket.Group = next.Socket.Mode, next.Socket.Group
	if f.HTTP.Listen == next.HTTP.Listen && f.Etcd == next.Etcd && (f.HTTP.TLS.Cert == "") == (next.HTTP.TLS.Cert == "") {
		// Otherwise rights that were meant for another address would be in force on this one.
		out.HTTP = next.HTTP
		out.HTTP.Probes = f.HTTP.Probes
	}
	return &out
}
