package kubetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Namespace is the only one.
const Namespace = "default"

// An object is JSON.
type object = map[string]any

// A Server keeps Lease objects.
type Server struct {
	mu       sync.Mutex
	revision uint64
	objects  map[string]object
	forbid   []string
	token    string
	minor    string
	writes   int
	// address is where it listens, also after it was killed.
	address string
	http    *http.Server
}

// New returns a server of Kubernetes 1.35 that does not listen yet.
func New() *Server {
	return &Server{revision: 1000, objects: make(map[string]object), minor: "35", address: "127.0.0.1:0"}
}

// Start has the server listen on this host, at the same address if it did before.
func (s *Server) Start() error {
	l, err := net.Listen("tcp", s.Address())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = l.Addr().String()
	s.http = &http.Server{Handler: s}
	go func(h *http.Server) { _ = h.Serve(l) }(s.http)
	return nil
}

// Kill cuts all connections, with the requests on them. Those that were carried out stay so.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return nil
	}
	h := s.http
	s.http = nil
	return h.Close()
}

// Address returns host:port.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Forbid has requests with these verbs refused, in place of those before.
func (s *Server) Forbid(verbs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbid = verbs
}

// SetToken has requests refused that do not bear the token, and SetMinor sets the version after "1.".
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

func (s *Server) SetMinor(minor string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.minor = minor
}

// Delete deletes an object, and Put writes one as JSON, whatever there was.
func (s *Server) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	delete(s.objects, name)
}

func (s *Server) Put(name, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s.store(name, o, nil)
	return nil
}

// Get returns a field of an object, by a path such as "spec.renewTime"; nil if there is none.
func (s *Server) Get(name, path string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var at any = s.objects[name]
	for p := range strings.SplitSeq(path, ".") {
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[p]
	}
	return at
}

// Writes returns how many writes there were.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// store writes an object in place of another.
func (s *Server) store(name string, o, before object) object {
	s.revision++
	s.writes++
	m, ok := o["metadata"].(object)
	if !ok {
		m = make(object)
		o["metadata"] = m
	}
	m["name"], m["namespace"], m["resourceVersion"] = name, Namespace, strconv.FormatUint(s.revision, 10)
	if before == nil {
		m["uid"], m["creationTimestamp"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.revision), time.Now().UTC().Format(time.RFC3339)
	} else {
		old := before["metadata"].(object)
		m["uid"], m["creationTimestamp"] = old["uid"], old["creationTimestamp"]
	}
	o["apiVersion"], o["kind"] = "coordination.k8s.io/v1", "Lease"
	s.objects[name] = o
	return o
}

// A problem is an answer that is not a success.
type problem struct {
	code            int
	reason, message string
}

func (p *problem) Error() string { return p.message }

func absent(name string) error {
	return &problem{http.StatusNotFound, "NotFound", fmt.Sprintf("leases.coordination.k8s.io %q not found", name)}
}

func conflict(name, why string) error {
	return &problem{http.StatusConflict, "Conflict", fmt.Sprintf("Operation cannot be fulfilled on leases.coordination.k8s.io %q: %s", name, why)}
}

func invalid(name, why string) error {
	return &problem{http.StatusUnprocessableEntity, "Invalid", fmt.Sprintf("Lease.coordination.k8s.io %q is invalid: %s", name, why)}
}

// leases is the path of the objects.
const leases = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	code, answer, err := s.answer(r, body)
	var p *problem
	if errors.As(err, &p) {
		code = p.code
		answer = object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure", "message": p.message, "reason": p.reason, "code": p.code}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// answer carries a request out.
func (s *Server) answer(r *http.Request, body []byte) (code int, answer object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		return 0, nil, &problem{http.StatusUnauthorized, "Unauthorized", "Unauthorized"}
	}
	name, of := strings.CutPrefix(r.URL.Path, leases)
	switch {
	case r.URL.Path == "/version":
		return http.StatusOK, object{"major": "1", "minor": s.minor, "gitVersion": "v1." + strings.TrimSuffix(s.minor, "+") + ".0"}, nil
	case r.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
		return s.review(body)
	case !of:
		return 0, nil, &problem{http.StatusNotFound, "NotFound", fmt.Sprintf("no namespace or resource at %s", r.URL.Path)}
	}
	return s.lease(r, strings.TrimPrefix(name, "/"), body)
}

func (s *Server) review(body []byte) (int, object, error) {
	var ask struct {
		Spec struct {
			ResourceAttributes struct{ Verb, Group, Resource, Namespace string }
		}
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		return 0, nil, &problem{http.StatusBadRequest, "BadRequest", err.Error()}
	}
	a := ask.Spec.ResourceAttributes
	allowed := a.Group == "coordination.k8s.io" && a.Resource == "leases" && !slices.Contains(s.forbid, a.Verb)
	return http.StatusCreated, object{"status": object{"allowed": allowed}}, nil
}

// lease carries out a request for an object.
func (s *Server) lease(r *http.Request, name string, body []byte) (code int, answer object, err error) {
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	if slices.Contains(s.forbid, verb) {
		return 0, nil, &problem{http.StatusForbidden, "Forbidden", fmt.Sprintf("leases.coordination.k8s.io %q is forbidden: User \"system:serviceaccount:default:regent\" cannot %s resource \"leases\" in API group \"coordination.k8s.io\" in the namespace %q", name, verb, Namespace)}
	}
	var given object
	if len(body) > 0 {
		if err := json.Unmarshal(body, &given); err != nil {
			return 0, nil, &problem{http.StatusBadRequest, "BadRequest", err.Error()}
		}
	}
	dry := r.URL.Query().Get("dryRun") == "All"
	now := s.objects[name]
	switch verb {
	case "get":
		if now == nil {
			return 0, nil, absent(name)
		}
		return http.StatusOK, now, nil
	case "create":
		return s.create(given, dry)
	case "update":
		answer, err = s.update(name, given, now)
	case "patch":
		if t := r.Header.Get("Content-Type"); t != "application/merge-patch+json" {
			return 0, nil, &problem{http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the stand-in takes merge patches only, not " + t}
		}
		if now == nil {
			return 0, nil, absent(name)
		}
		answer, err = s.update(name, merge(now, given).(object), now)
	case "delete":
		if now == nil {
			return 0, nil, absent(name)
		}
		s.revision++
		delete(s.objects, name)
		answer = object{"kind": "Status", "status": "Success"}
	default:
		return 0, nil, &problem{http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method}
	}
	return http.StatusOK, answer, err
}

func (s *Server) create(given object, dry bool) (int, object, error) {
	m, _ := given["metadata"].(object)
	name, _ := m["name"].(string)
	if v, ok := m["resourceVersion"].(string); ok && v != "" {
		return 0, nil, &problem{http.StatusInternalServerError, "InternalError", "resourceVersion should not be set on objects to be created"}
	}
	if s.objects[name] != nil {
		return 0, nil, &problem{http.StatusConflict, "AlreadyExists", fmt.Sprintf("leases.coordination.k8s.io %q already exists", name)}
	}
	if err := check(name, given); err != nil {
		return 0, nil, err
	}
	if dry {
		return http.StatusCreated, given, nil
	}
	return http.StatusCreated, s.store(name, given, nil), nil
}

// update replaces an object if the resourceVersion and the uid that are given are its own.
func (s *Server) update(name string, given, now object) (object, error) {
	m, _ := given["metadata"].(object)
	version, _ := m["resourceVersion"].(string)
	uid, _ := m["uid"].(string)
	if err := check(name, given); err != nil {
		return nil, err
	}
	if now == nil {
		if uid != "" {
			return nil, conflict(name, "StorageError: invalid object, Code: 4, AdditionalErrorMsg: Precondition failed: UID in precondition: "+uid+", UID in object meta: ")
		}
		return s.store(name, given, nil), nil
	}
	old := now["metadata"].(object)
	switch {
	case uid != "" && uid != old["uid"]:
		return nil, conflict(name, fmt.Sprintf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, old["uid"]))
	case version == "":
		return nil, invalid(name, "metadata.resourceVersion: must be specified for an update")
	case version != old["resourceVersion"]:
		return nil, conflict(name, "the object has been modified; please apply your changes to the latest version and try again")
	case reflect.DeepEqual(given, now):
		return now, nil
	}
	return s.store(name, given, now), nil
}

// merge applies a merge patch (RFC 7386), and changes neither of the two.
func merge(target, patch any) any {
	p, ok := patch.(object)
	if !ok {
		return patch
	}
	t, _ := target.(object)
	result := maps.Clone(t)
	if result == nil {
		result = make(object)
	}
	for k, v := range p {
		if v == nil {
			delete(result, k)
		} else {
			result[k] = merge(result[k], v)
		}
	}
	return result
}

// check validates the fields of an object.
func check(name string, o object) error {
	spec, _ := o["spec"].(object)
	for k, v := range spec {
		var ok bool
		switch k {
		case "holderIdentity", "strategy", "preferredHolder":
			_, ok = v.(string)
		case "leaseDurationSeconds":
			n, is := v.(float64)
			ok = is && n > 0
		case "leaseTransitions":
			n, is := v.(float64)
			ok = is && n >= 0
		case "acquireTime", "renewTime":
			text, is := v.(string)
			_, err := time.Parse("2006-01-02T15:04:05.000000Z07:00", text)
			ok = is && err == nil
		}
		if !ok && v != nil {
			return invalid(name, fmt.Sprintf("spec.%s: Invalid value: %v", k, v))
		}
	}
	m, _ := o["metadata"].(object)
	a, _ := m["annotations"].(object)
	for k, v := range a {
		if _, ok := v.(string); !ok {
			return invalid(name, fmt.Sprintf("metadata.annotations.%s: Invalid value: %v", k, v))
		}
	}
	return nil
}
