package config

import (
	"crypto/tls"
	"net"
	"net/netip"
	"os"
)

// checkTLS looks at the certificates of the listeners.
func (f *File) checkTLS(fail failer) {
	h := &f.HTTP
	if h.Listen == "" && f.Etcd.Listen == "" {
		return
	}
	if (h.TLS.Cert == "") != (h.TLS.Key == "") {
		fail("http.tls: needs both cert and key")
	} else if h.TLS.Cert != "" {
		if _, err := tls.LoadX509KeyPair(h.TLS.Cert, h.TLS.Key); err != nil {
			fail("http.tls: %w", err)
		}
	}
	if h.TLS.ClientCA != "" {
		if h.TLS.Cert == "" {
			fail("http.tls.client_ca: needs cert and key as well")
		} else if _, err := os.Stat(h.TLS.ClientCA); err != nil {
			fail("http.tls.client_ca: %w", err)
		}
	}
}

// checkListener looks at the address of a listener. Off loopback it has TLS, and clients that it can tell apart.
func (f *File) checkListener(fail failer, key, listen, local string) {
	h := &f.HTTP
	if listen == "" {
		return
	}
	if err := address(listen); err != nil {
		fail("%s: %w", key, err)
		return
	}
	if Loopback(listen) {
		return
	}
	if h.TLS.Cert == "" {
		fail("%s %s is not on loopback: set http.tls.cert and http.tls.key, or listen on %s", key, listen, local)
	}
	if h.TLS.ClientCA == "" && len(h.Tokens) == 0 {
		fail("%s %s is not on loopback: set http.tls.client_ca or http.tokens, so that not everybody may ask", key, listen)
	}
	if h.Anonymous != "none" {
		fail("http.anonymous %s: %s %s is not on loopback", h.Anonymous, key, listen)
	}
}

// Loopback says whether an address can be reached from this host only. A name that may resolve to anything is not.
func Loopback(addr string) bool {
	if addr == "" {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}
