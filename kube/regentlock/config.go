package regentlock

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/regentproject/regent"
)

// A Config is how a lock elects. The zero Config will do under an agent with its defaults.
type Config struct {
	// Lease is how long the leases of the group are, and the elector's LeaseDuration: if a leader dies with its host, another one leads after about as
	// long. Zero: 5 s, which is the default of agents.
	Lease time.Duration
	// RenewDeadline and RetryPeriod are those of the elector. Zero: a half, and a tenth, of Room.
	RenewDeadline, RetryPeriod time.Duration
	// Identity names this candidate among all of the group. Members announce it as the value of the leadership. Empty: the name of the host, and a
	// random number.
	Identity string
	// Timing is that of the council. Zero: regent.LAN, which is the default of agents.
	Timing regent.Timing
}

const defaultLease = 5 * time.Second

// maxIdentity is the longest value that a leadership can announce.
const maxIdentity = 256

// Room returns what RenewDeadline and RetryPeriod may last together. An elector tells its program to stop that long after the last renewal that
// succeeded, and that must be over when the guard of the lease begins: it is what the lease lasts by the clock of its holder, less the renewal
// interval, a round trip and the guard.
func (c Config) Room() time.Duration {
	t := c.timing()
	return t.ForLease(c.lease()).Tolerates()
}

func (c Config) lease() time.Duration { return cmp.Or(c.Lease, defaultLease) }

func (c Config) timing() regent.Timing {
	if c.Timing == (regent.Timing{}) {
		return regent.LAN
	}
	return c.Timing
}

// complete returns the configuration with its defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	c.Timing, c.Lease = c.timing(), c.lease()
	if c.Lease < 0 {
		return c, fmt.Errorf("regentlock: lease %v: must be positive (zero: %v)", c.Lease, defaultLease)
	}
	if err := c.Timing.CheckLease(c.Lease); err != nil {
		return c, fmt.Errorf("regentlock: %w", err)
	}
	room := c.Room()
	if c.RenewDeadline == 0 {
		c.RenewDeadline = (room / 2).Truncate(time.Millisecond)
	}
	if c.RetryPeriod == 0 {
		c.RetryPeriod = (room / 10).Truncate(time.Millisecond)
	}
	if err := c.checkTiming(room); err != nil {
		return c, err
	}
	return c, c.identify()
}

// checkTiming holds the timing of the elector against that of the lease.
func (c *Config) checkTiming(room time.Duration) error {
	if c.RetryPeriod <= 0 || c.RenewDeadline <= 0 {
		return fmt.Errorf("regentlock: renew deadline %v and retry period %v: must be positive (the lease %v leaves %v for both: choose a longer one)",
			c.RenewDeadline, c.RetryPeriod, c.Lease, room)
	}
	if least := time.Duration(leaderelection.JitterFactor * float64(c.RetryPeriod)); c.RenewDeadline <= least {
		return fmt.Errorf("regentlock: renew deadline %v: must exceed %v, %v times the retry period %v", c.RenewDeadline, least, leaderelection.JitterFactor, c.RetryPeriod)
	}
	if both := c.RenewDeadline + c.RetryPeriod; both > room {
		t := c.Timing.ForLease(c.Lease)
		return fmt.Errorf("regentlock: renew deadline %v and retry period %v: together %v, at most %v: the lease %v less drift, the renewal interval %v, the round trip %v and the guard %v "+
			"(choose shorter ones, or a longer lease)", c.RenewDeadline, c.RetryPeriod, both, room, c.Lease, t.Renew, t.RoundTrip, t.Guard)
	}
	return nil
}

// identify checks the identity, or makes one.
func (c *Config) identify() error {
	if c.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("regentlock: identity: %w", err)
		}
		c.Identity = host + "_" + string(uuid.NewUUID())
	}
	if len(c.Identity) > maxIdentity || !utf8.ValidString(c.Identity) {
		return fmt.Errorf("regentlock: identity %.40q: must be UTF-8 of at most %d bytes", c.Identity, maxIdentity)
	}
	return nil
}

var errNoGroup = errors.New("regentlock: missing group (take one from a regent.Client or a regent.Member)")
