package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/engine/register"
)

// Vacant is the holder of an object that this engine has created where there was none. No process leads under it.
const Vacant = "vacant (regent waits one lease)"

const (
	// noteKey is the annotation in which a leader of this engine keeps what the fields have no room for.
	noteKey = "regent.dev/lease"
	// floorName is the object that keeps the floor of tokens, in the annotation floorKey.
	floorName = "regent-floor"
	floorKey  = "regent.dev/floor"
	// encoded begins the names of objects whose groups have names that no object can have.
	encoded = "regent-group-"
)

// An object is a Lease of coordination.k8s.io/v1, as far as it matters here.
type object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Metadata   meta   `json:"metadata"`
	Spec       spec   `json:"spec"`
}

type meta struct {
	Name            string            `json:"name,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	OwnerReferences []struct {
		Kind string `json:"kind"`
	} `json:"ownerReferences,omitempty"`
}

type spec struct {
	HolderIdentity       *string `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds *int64  `json:"leaseDurationSeconds,omitempty"`
	AcquireTime          string  `json:"acquireTime,omitempty"`
	RenewTime            string  `json:"renewTime,omitempty"`
	LeaseTransitions     *int64  `json:"leaseTransitions,omitempty"`
	Strategy             string  `json:"strategy,omitempty"`
	PreferredHolder      string  `json:"preferredHolder,omitempty"`
}

// microTime is how the API writes a time. It takes no other number of digits.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// version is that of the notes.
const version = 1

// A note is what the annotation holds. It counts while the holder of the object is the one that the note names: electors of client-go leave annotations as they are.
type note struct {
	Version int    `json:"version"`
	Group   string `json:"group"`
	Holder  string `json:"holder"`
	Session string `json:"session"`
	// Token is zero in a claim: then it is the resourceVersion of that, and the floor.
	Token uint64 `json:"token,omitempty"`
	Floor uint64 `json:"floor,omitempty"`
	Value string `json:"value,omitempty"`
}

// identity is the holder of an object whose note this is: unlike that of any other claim.
func (n *note) identity() string {
	if n.Session == "" {
		return Vacant
	}
	return n.Holder + "_" + n.Session
}

// noteOf returns the note of an object; nil if it has none.
func noteOf(l *object) (*note, error) {
	text, ok := l.Metadata.Annotations[noteKey]
	if !ok {
		return nil, nil
	}
	var n note
	if err := json.Unmarshal([]byte(text), &n); err != nil || n.Version != version {
		return nil, fmt.Errorf("the annotation %s is not of version %d of this engine (agents of another version use the object)", noteKey, version)
	}
	return &n, nil
}

// decode returns the entry that an object is. Its beat is the resourceVersion.
func decode(l *object) (register.Entry, error) {
	beat, err := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	if err != nil || beat == 0 {
		return register.Entry{}, fmt.Errorf("the resourceVersion %q is not a number: this server cannot be used", l.Metadata.ResourceVersion)
	}
	if l.Spec.Strategy != "" || l.Spec.PreferredHolder != "" {
		return register.Entry{}, fmt.Errorf("the object is of a coordinated election (strategy %q): the control plane chooses its holder (use another group)", l.Spec.Strategy)
	}
	n, err := noteOf(l)
	if err != nil {
		return register.Entry{}, err
	}
	e := register.Entry{Beat: beat, Token: 1, TTL: time.Duration(value(l.Spec.LeaseDurationSeconds)) * time.Second}
	if n != nil {
		e.Token = cmp.Or(n.Token, beat+n.Floor)
	}
	holder := value(l.Spec.HolderIdentity)
	switch {
	case holder == "":
		e.Free = true
		if n != nil {
			e.Holder, e.Session = n.Holder, n.Session
		}
	case n != nil && holder == n.identity():
		e.Holder, e.Session, e.Value = n.Holder, n.Session, n.Value
	default:
		return others(l, n, e)
	}
	return e, nil
}

// others returns the entry of an object whose holder is not of this engine, or the reason why it is not an elector either.
func others(l *object, n *note, e register.Entry) (register.Entry, error) {
	holder := value(l.Spec.HolderIdentity)
	for _, o := range l.Metadata.OwnerReferences {
		if o.Kind == "Node" {
			return e, fmt.Errorf("the object is the heartbeat of a node (holder %q): it is not there to be led by (use another group or namespace)", holder)
		}
	}
	if _, ok := l.Metadata.Labels["apiserver.kubernetes.io/identity"]; ok {
		return e, fmt.Errorf("the object is the identity of an API server (holder %q): it is not there to be led by (use another group or namespace)", holder)
	}
	if e.TTL <= 0 {
		return e, fmt.Errorf("the object has the holder %q and no leaseDurationSeconds: it is not of an elector (delete it if its holder has gone)", holder)
	}
	e.Holder, e.Session, e.Token = holder, holder, 1
	if n != nil { // no leadership has this token: it is for people to see that something has changed
		e.Token = max(n.Token, n.Floor) + 1
	}
	return e, nil
}

func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// subdomain is what names of objects look like.
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// objectName returns the name of the object of a group: the group's own, if an object can have it.
func objectName(group string) string {
	if len(group) <= 253 && subdomain.MatchString(group) && group != floorName && !strings.HasPrefix(group, encoded) {
		return group
	}
	sum := sha256.Sum256([]byte(group))
	return encoded + hex.EncodeToString(sum[:16])
}
