// Package authority makes certificates for tests: of agents on loopback, and of their clients.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority signs certificates. Its own is authority.pem in Dir.
type Authority struct {
	Dir  string
	Cert *x509.Certificate
	t    testing.TB
	key  *ecdsa.PrivateKey
}

// New returns an authority whose files go with the test.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, Dir: t.TempDir()}
	a.Cert, a.key = a.make("authority", nil, nil)
	return a
}

// make makes a certificate; without an issuer it signs itself.
func (a *Authority) make(name string, issuer *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if issuer == nil {
		form.IsCA, form.BasicConstraintsValid, form.KeyUsage = true, true, x509.KeyUsageCertSign
		issuer, by = form, key
	}
	der, err := x509.CreateCertificate(rand.Reader, form, issuer, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.Dir, name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key
}

// Issue signs a certificate for a name on 127.0.0.1, and writes NAME.pem and NAME.key.
func (a *Authority) Issue(name string) tls.Certificate {
	a.t.Helper()
	a.make(name, a.Cert, a.key)
	c, err := tls.LoadX509KeyPair(filepath.Join(a.Dir, name+".pem"), filepath.Join(a.Dir, name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}
