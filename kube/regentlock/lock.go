package regentlock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock/internal/rule"
)

// A Lock is a lock for one elector of client-go. It implements resourcelock.Interface.
type Lock struct {
	group  *regent.Group
	config Config

	mu      sync.Mutex
	machine rule.Machine
	// lease is that of the last campaign that was won; nil while the lock is idle.
	lease *regent.Lease
	// wrote is what the elector wrote last.
	wrote resourcelock.LeaderElectionRecord
	// shown is the holder that the elector saw last, and unreported says that it had not seen that one before.
	shown      string
	unreported bool
	// watched says that the functions of the program are wrapped (Elector).
	watched bool
}

var _ resourcelock.Interface = (*Lock)(nil)

// New returns a lock for one elector, which elects in the group. It does not ask the agent.
func New(group *regent.Group, c Config) (*Lock, error) {
	if group == nil {
		return nil, errNoGroup
	}
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &Lock{group: group.WithLease(c.Lease).Announcing(c.Identity), config: c}, nil
}

// Config returns the configuration with its defaults.
func (l *Lock) Config() Config { return l.config }

// Identity returns the name of this candidate.
func (l *Lock) Identity() string { return l.config.Identity }

// Describe names the group.
func (l *Lock) Describe() string { return "regent group " + strconv.Quote(l.group.Name()) }

// Valid says whether the elector leads and the lease ran at an instant during the call. It asks the clock, also after a pause of the process.
func (l *Lock) Valid() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.machine.State()
	return (s == rule.Leading || s == rule.Finished) && l.lease.Valid()
}

// Lease returns the lease of the present leadership, with its token and the stamps of orders; nil if there is none. It may be over. A program that
// leads takes it once, at its beginning: a later call may return that of a later leadership, whose token a receiver would admit.
func (l *Lock) Lease() *regent.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease
}

// step gives the machine what happened to the lease, and then the event. It returns what to do, and the lease to give up, if there is one.
func (l *Lock) step(e rule.Event) (do rule.Action, resign *regent.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	resign = l.look()
	held := l.lease
	do = l.machine.Step(e)
	if do == rule.Resign {
		resign = held
	}
	l.forget()
	return do, resign
}

// look gives the machine what happened to the lease. Its clock is asked: nothing else in this process need have run.
func (l *Lock) look() (resign *regent.Lease) {
	if l.lease == nil {
		return nil
	}
	e := rule.Over
	if l.lease.Valid() {
		select {
		case <-l.lease.Done():
			e = rule.MustStop
		default:
			return nil
		}
	}
	if l.machine.Step(e) == rule.Resign {
		resign = l.lease
	}
	l.forget()
	return resign
}

// forget drops the lease of a leadership that is behind an idle lock.
func (l *Lock) forget() {
	if l.machine.State() == rule.Idle {
		l.lease = nil
	}
}

// resign gives a lease up without waiting for the agent.
func (l *Lock) resign(lease *regent.Lease) {
	if lease == nil {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), l.config.Lease)
		defer cancel()
		_ = lease.Resign(ctx) // it ends by itself if the agent does not answer
	}()
}

// Create asks to lead, or to go on leading.
func (l *Lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

// Update asks to lead, or to go on leading. Without a holder, it gives the group up.
func (l *Lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" {
		return l.release(ctx)
	}
	if err := l.fits(r); err != nil {
		return err
	}
	do, resign := l.step(l.asked())
	l.resign(resign)
	switch do {
	case rule.Grant:
		return l.renew(ctx, r)
	case rule.Campaign:
		return l.campaign(ctx, r)
	}
	return l.refusal()
}

func (l *Lock) asked() rule.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unreported {
		return rule.Unreported
	}
	return rule.Asked
}

// fits holds the elector's constants against those of the lock, as far as the elector shows them.
func (l *Lock) fits(r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity != l.config.Identity {
		return fmt.Errorf("%s: the holder %q is not the identity %q of the lock", l.Describe(), r.HolderIdentity, l.config.Identity)
	}
	if want := int(l.config.Lease / time.Second); r.LeaseDurationSeconds != want {
		return fmt.Errorf("%s: the elector has a lease duration of %d s, the lock a lease of %v (take LeaseDuration, RenewDeadline and RetryPeriod from the Config of the lock)",
			l.Describe(), r.LeaseDurationSeconds, l.config.Lease)
	}
	return nil
}

// renew lets the elector go on if the lease lasts until the elector would have told its program to stop.
func (l *Lock) renew(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > l.config.RenewDeadline {
			return fmt.Errorf("%s: the elector has a renew deadline of at least %v, the lock of %v (take LeaseDuration, RenewDeadline and RetryPeriod from the Config of the lock)",
				l.Describe(), left.Truncate(time.Millisecond), l.config.RenewDeadline)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease == nil {
		return l.refusalOf(l.machine.State())
	}
	if err := l.lasts(l.lease); err != nil {
		return err
	}
	l.wrote = r
	return nil
}

// lasts says why an elector that learns nothing more would tell its program too late.
func (l *Lock) lasts(lease *regent.Lease) error {
	left, need := lease.Remaining()-l.config.Timing.Guard, l.config.RenewDeadline+l.config.RetryPeriod
	if left < need {
		return fmt.Errorf("%s: the lease lasts %v less the guard, the elector may take %v to stop its program", l.Describe(), left.Truncate(time.Millisecond), need)
	}
	return nil
}

// release gives the group up if the program has stopped. Its error is never a conflict: the elector would try again at once, without end.
func (l *Lock) release(ctx context.Context) error {
	do, resign := l.step(rule.Released)
	if resign != nil {
		return resign.Resign(ctx)
	}
	if do == rule.Grant {
		return nil
	}
	return fmt.Errorf("%s: the program may run: the group is given up when the program reports that it has stopped, or when its process has exited", l.Describe())
}

// errLost is what an elector gets from the loss until it stops.
var errLost = errors.New("the leadership is lost: the elector must stop")

// refusal says why an elector may not go on.
func (l *Lock) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusalOf(l.machine.State())
}

func (l *Lock) refusalOf(s rule.State) error {
	switch s {
	case rule.Idle:
		return apierrors.NewConflict(resource, l.group.Name(), errOther)
	case rule.Campaigning:
		return fmt.Errorf("%s: another elector campaigns with this lock (make a lock for each)", l.Describe())
	case rule.Stopping:
		return fmt.Errorf("%s: the program of the last leadership has not reported that it has stopped (call Stopped, or exit)", l.Describe())
	}
	return fmt.Errorf("%s: %w", l.Describe(), errLost)
}

// Get returns the leader of the group, as the member sees it, or the elector's own record while that leads.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, err := l.own()
	if err != nil {
		return nil, nil, err
	}
	if r == nil {
		r, err = l.others(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	return r, []byte(strconv.Itoa(r.LeaderTransitions) + " " + r.HolderIdentity), nil
}

// own returns the record of the elector while it leads. From a loss until the elector has stopped it is an error. It does not ask the agent: an elector that
// waited here would stop its program later.
func (l *Lock) own() (*resourcelock.LeaderElectionRecord, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resign(l.look())
	switch s := l.machine.State(); s {
	case rule.Idle, rule.Campaigning:
		return nil, nil
	case rule.Leading, rule.Finished:
		r := l.wrote
		r.LeaderTransitions = int(l.lease.Token())
		return &r, nil
	default:
		return nil, l.refusalOf(s)
	}
}

// others returns the record of another leader. It lasts for no time, so that the elector asks for what the other holds.
func (l *Lock) others(ctx context.Context) (*resourcelock.LeaderElectionRecord, error) {
	v, err := l.group.View(ctx)
	if err != nil {
		return nil, err
	}
	holder := l.holder(&v)
	l.mu.Lock()
	l.shown, l.unreported = holder, holder != "" && holder != l.shown
	l.mu.Unlock()
	if holder == "" {
		return nil, apierrors.NewNotFound(resource, l.group.Name())
	}
	return &resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaderTransitions: int(v.Token), AcquireTime: metav1.NewTime(v.At), RenewTime: metav1.NewTime(v.At)}, nil
}

// resource names groups in errors of the kind that electors look for.
var resource = schema.GroupResource{Group: "regent", Resource: "groups"}

// holder returns who leads according to a view. It returns nothing if that is this very candidate, which does not lead any more.
func (l *Lock) holder(v *regent.View) string {
	holder := v.Value
	if holder == "" {
		holder = v.Leader // a program that announces nothing, such as one under regent run
	}
	if v.Leader == "" || holder == l.config.Identity {
		return ""
	}
	return holder
}

// stoppedLeading is what an elector records when it has stopped, before it ends the context of its program and calls OnStoppedLeading.
const stoppedLeading = "stopped leading"

// RecordEvent takes note that the elector has stopped. An elector whose callbacks are wrapped reports it by OnStoppedLeading, which is later.
func (l *Lock) RecordEvent(what string) {
	l.mu.Lock()
	watched := l.watched
	l.mu.Unlock()
	if what == stoppedLeading && !watched {
		l.reported()
	}
}

func (l *Lock) reported() {
	_, resign := l.step(rule.Reported)
	l.resign(resign)
}
