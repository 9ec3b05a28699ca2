package etcd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent/agent/config"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	self := a.sign("authority")
	cert, err := x509.ParseCertificate(self.Certificate[0])
	must(t, err)
	a.cert, a.key = cert, self.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(cert)
	return a
}

// sign returns a certificate with a name: the first is the authority's own.
func (a *authority) sign(name string) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	must(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// With TLS, the common name of a certificate says who a client is.
func TestClientsWithCertificates(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := &tls.Config{Certificates: []tls.Certificate{ca.sign("server")}, ClientCAs: ca.pool, ClientAuth: tls.VerifyClientCertIfGiven, NextProtos: []string{"h2"}}
	_, address := serveTLS(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return server, nil }}, func(f *config.File) {
		f.HTTP.Anonymous, f.HTTP.TLS.WriteNames = "none", []string{"deploy"}
	})
	ctx := soon(t)
	as := func(certificates ...tls.Certificate) *clientv3.Client {
		return dial(t, address, func(c *clientv3.Config) { c.TLS = &tls.Config{RootCAs: ca.pool, Certificates: certificates} })
	}
	if _, err := as().Grant(ctx, 2); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a certificate: %v", err)
	}
	if err := concurrency.NewElection(newSession(t, as(ca.sign("look"))), "g").Campaign(ctx, ""); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a certificate that may read: %v", err)
	}
	must(t, concurrency.NewElection(newSession(t, as(ca.sign("deploy"))), "g").Campaign(ctx, ""))
}
