package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
)

// A store keeps the entries in Lease objects of one namespace.
type store struct {
	api       *api
	namespace string
	// comparable says that the server promises resourceVersions that can be compared. It is known once the store was checked.
	comparable atomic.Bool
	// clock is the time of day, which only people read.
	clock func() time.Time

	mu sync.Mutex
	// renewed has the last time that was written of each group that is led here.
	renewed map[string]time.Time
}

func (s *store) Name() string  { return "kubernetes" }
func (s *store) Where() string { return s.api.host + "/" + s.namespace }

func (s *store) Limits() engine.Limits {
	l := engine.Limits{Shortest: 2 * time.Second, Step: time.Second, NoFence: !s.comparable.Load(),
		Loss: "a restore of the control plane's etcd begins at an older resourceVersion, so that a token may repeat; an elector of client-go that finds the Lease object deleted leads at once"}
	return l
}

// oldest is the oldest version that has Lease objects, and comparing the first that promises resourceVersions that can be compared.
var (
	oldest    = [2]int{1, 14}
	comparing = [2]int{1, 35}
)

func before(v, than [2]int) bool { return v[0] < than[0] || v[0] == than[0] && v[1] < than[1] }

// heartbeats is the namespace in which nodes have their heartbeats.
const heartbeats = "kube-node-lease"

// verbs are what the engine needs to do with Lease objects.
var verbs = []string{"get", "create", "patch"}

// Role is the manifest of what the engine needs in a namespace, for a service account there.
func Role(namespace, account string) string {
	return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: regent, namespace: %[1]s}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [%[3]s]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: regent, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: regent}
subjects:
- {kind: ServiceAccount, name: %[2]s, namespace: %[1]s}
`, namespace, account, strings.Join(verbs, ", "))
}

// need says in one line what Role makes.
func (s *store) need() string {
	return fmt.Sprintf("it needs a Role in the namespace %s with the rule {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [%s]}, as 'regent engine role' prints it",
		s.namespace, strings.Join(verbs, ", "))
}

func (s *store) Check(ctx context.Context) error {
	if s.namespace == heartbeats {
		return fmt.Errorf("%s: the namespace has the heartbeats of nodes: use another one", s.Where())
	}
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	var v struct{ Major, Minor, GitVersion string }
	if err := s.api.do(ctx, request{method: http.MethodGet, path: "/version"}, &v); err != nil {
		return fmt.Errorf("%s: asking for the version: %w", s.Where(), err)
	}
	var number [2]int
	if _, err := fmt.Sscanf(v.Major+"."+v.Minor, "%d.%d", &number[0], &number[1]); err != nil || before(number, oldest) {
		return fmt.Errorf("%s: version %q: must be Kubernetes %d.%d or later", s.Where(), v.GitVersion, oldest[0], oldest[1])
	}
	s.comparable.Store(!before(number, comparing))
	if err := s.checkRights(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.Where(), err)
	}
	return nil
}

// checkRights asks the server what this client may do, and reads an object. Nothing is changed.
func (s *store) checkRights(ctx context.Context) error {
	var missing []string
	for _, verb := range verbs {
		ask := map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{
			"resourceAttributes": map[string]string{"namespace": s.namespace, "verb": verb, "group": "coordination.k8s.io", "resource": "leases"}}}
		var answer struct{ Status struct{ Allowed bool } }
		err := s.api.do(ctx, request{method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: ask}, &answer)
		switch {
		case is(err, http.StatusForbidden): // then the requests themselves tell
		case err != nil:
			return fmt.Errorf("asking whether this client may %s leases: %w", verb, err)
		case !answer.Status.Allowed:
			missing = append(missing, verb)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("forbidden: this client may not %s leases in the namespace %s: %s", strings.Join(missing, ", "), s.namespace, s.need())
	}
	_, _, err := s.floor(ctx)
	if err == nil {
		// An object that is not there shows nothing of the namespace. This would make one, and is only tried.
		err = s.create(ctx, &object{Metadata: meta{Name: floorName}}, true, new(object))
	}
	if is(err, http.StatusConflict) {
		err = nil
	}
	return err
}

// get reads an object; nil if there is none.
func (s *store) get(ctx context.Context, name string) (*object, error) {
	l := new(object)
	err := s.api.do(ctx, request{method: http.MethodGet, path: s.path(name)}, l)
	if is(err, http.StatusNotFound) {
		return nil, nil
	}
	return l, s.explain("get", name, err)
}

// create makes an object; dry: only tries whether it could.
func (s *store) create(ctx context.Context, l *object, dry bool, made *object) error {
	l.APIVersion, l.Kind = "coordination.k8s.io/v1", "Lease"
	r := request{method: http.MethodPost, path: s.path(""), body: l}
	if dry {
		r.query = "dryRun=All"
	}
	return s.explain("create", l.Metadata.Name, s.api.do(ctx, r, made))
}

// patch changes an object if its resourceVersion is that of the patch. A patch never makes an object.
func (s *store) patch(ctx context.Context, name string, l *object, now *object) error {
	return s.explain("patch", name, s.api.do(ctx, request{method: http.MethodPatch, path: s.path(name), body: l}, now))
}

func (s *store) path(name string) string {
	p := "/apis/coordination.k8s.io/v1/namespaces/" + s.namespace + "/leases"
	if name != "" {
		p += "/" + name
	}
	return p
}

// explain says what was forbidden, and what would help.
func (s *store) explain(verb, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case is(err, http.StatusForbidden):
		return fmt.Errorf("forbidden to %s the lease %s in the namespace %s: %s (%w)", verb, name, s.namespace, s.need(), err)
	}
	return fmt.Errorf("%s of the lease %s: %w", verb, name, err)
}

func (s *store) Read(ctx context.Context, group string) (register.Entry, error) {
	l, err := s.get(ctx, objectName(group))
	if err != nil || l == nil {
		return register.Entry{}, err
	}
	return s.entry(group, l)
}

func (s *store) entry(group string, l *object) (register.Entry, error) {
	e, err := decode(l)
	if err != nil {
		return register.Entry{}, fmt.Errorf("lease %s/%s: %w", s.namespace, objectName(group), err)
	}
	return e, nil
}

func (s *store) Swap(ctx context.Context, group string, old, next register.Entry) (now register.Entry, swapped bool, err error) {
	name := objectName(group)
	l, err := s.fields(group, next)
	if err != nil {
		return now, false, err
	}
	if next.Token == 0 {
		current, err := s.claim(ctx, name, &old, l)
		if err != nil {
			return now, false, err
		}
		if current != nil { // it has changed meanwhile
			now, err = s.entry(group, current)
			return now, false, err
		}
	}
	result := new(object)
	if old.Absent() {
		l.Metadata.Name = name
		err = s.create(ctx, l, false, result)
	} else {
		l.Metadata.ResourceVersion = strconv.FormatUint(old.Beat, 10)
		err = s.patch(ctx, name, l, result)
	}
	switch {
	case err == nil:
		now, err = s.entry(group, result)
		return now, err == nil, err
	case is(err, http.StatusConflict) || !old.Absent() && is(err, http.StatusNotFound):
		now, err = s.Read(ctx, group)
	}
	return now, false, err
}

// fields returns the fields that an entry changes.
func (s *store) fields(group string, e register.Entry) (*object, error) {
	n := note{Version: version, Group: group, Holder: e.Holder, Session: e.Session, Token: e.Token, Value: e.Value}
	holder, seconds := n.identity(), int64((e.TTL+time.Second-1)/time.Second)
	if e.Free {
		holder = ""
	}
	at := s.stamp(group, &e)
	l := &object{Spec: spec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: at}}
	if e.Token == 0 {
		l.Spec.AcquireTime = at
	}
	return l, n.into(l)
}

// into writes the note into an object.
func (n *note) into(l *object) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	l.Metadata.Annotations = map[string]string{noteKey: string(b)}
	return nil
}

// stamp returns the time of a write. Of two writes of a leadership no two are in the same second, because electors of client-go see whole seconds, and the later one is later, whatever happens
// to the time of day.
func (s *store) stamp(group string, e *register.Entry) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock().UTC()
	if last, ok := s.renewed[group]; ok && e.Token != 0 && now.Unix() <= last.Unix() {
		now = last.Truncate(time.Second).Add(time.Second)
	}
	if e.Free {
		delete(s.renewed, group)
	} else {
		s.renewed[group] = now
	}
	return now.Format(microTime)
}

// claim adds to an object what is not known without asking: the floor of tokens, and how often the holder has changed. It returns the object if it is not the old one any
// more. The floor is read after the old one was, so tokens grow although both are not read at once.
func (s *store) claim(ctx context.Context, name string, old *register.Entry, l *object) (changed *object, err error) {
	floor, _, err := s.floor(ctx)
	if err != nil {
		return nil, err
	}
	n, err := noteOf(l)
	if err != nil {
		return nil, err
	}
	n.Floor = floor
	transitions := int64(0)
	if !old.Absent() {
		current, err := s.get(ctx, name)
		if err == nil && current == nil {
			err = errGone
		}
		if err != nil || current.Metadata.ResourceVersion != strconv.FormatUint(old.Beat, 10) {
			return current, err
		}
		transitions = value(current.Spec.LeaseTransitions) + 1
	}
	l.Spec.LeaseTransitions = &transitions
	return nil, n.into(l)
}

var errGone = errors.New("the object was deleted meanwhile")

// floor returns what is added to resourceVersions, and the object that says so; nil: there is none.
func (s *store) floor(ctx context.Context) (above uint64, l *object, err error) {
	l, err = s.get(ctx, floorName)
	if err != nil || l == nil {
		return 0, nil, err
	}
	text, ok := l.Metadata.Annotations[floorKey]
	if !ok {
		return 0, l, nil
	}
	above, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, l, fmt.Errorf("lease %s/%s: the annotation %s is %q and must be a number", s.namespace, floorName, floorKey, text)
	}
	return above, l, nil
}

// maxFloor keeps the sum with a resourceVersion a number that a token can be.
const maxFloor = 1 << 52

// Raise sets the floor, for all groups.
func (s *store) Raise(ctx context.Context, _ string, above uint64) error {
	if above > maxFloor {
		return fmt.Errorf("engine kubernetes: token %d: too large", above)
	}
	if err := s.Check(ctx); err != nil {
		return fmt.Errorf("engine kubernetes: %w", err)
	}
	for {
		floor, l, err := s.floor(ctx)
		if err != nil || floor >= above {
			return err
		}
		next := &object{Metadata: meta{Annotations: map[string]string{floorKey: strconv.FormatUint(above, 10)}}}
		if l == nil {
			next.Metadata.Name = floorName
			err = s.create(ctx, next, false, new(object))
		} else {
			next.Metadata.ResourceVersion = l.Metadata.ResourceVersion
			err = s.patch(ctx, floorName, next, new(object))
		}
		if !is(err, http.StatusConflict) {
			return err
		}
	}
}
