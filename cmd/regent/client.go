package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/config"
)

// A client asks the agent of this host, by HTTP on its unix socket, or one elsewhere.
type client struct {
	// socket is the path of the socket, or the URL of an agent elsewhere. Base is what paths are appended to.
	socket, base string
	http         *http.Client
	// token is sent to an agent elsewhere, if it is set; broken is why it cannot be asked.
	token  string
	broken error
}

// socketFlag says where the agent listens.
func socketFlag(c *cobra.Command, to *string) {
	path := os.Getenv("REGENT_SOCKET")
	if path == "" {
		path = config.DefaultSocket
	}
	c.Flags().StringVar(to, "socket", path, "the socket of this host's agent; $REGENT_SOCKET changes the default")
}

func newClient(socket string) *client {
	if isURL(socket) {
		return newRemoteClient(socket)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	// A connection that is kept would count against the agent's limit until it times out.
	return &client{socket: socket, base: "http://agent", http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// askLimit is how long an answer may take that needs nobody else.
const askLimit = 10 * time.Second

// get asks a question.
func (c *client) get(ctx context.Context, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// post gives an order. It may take as long as a program takes to stop.
func (c *client) post(ctx context.Context, path string, body, out any) error {
	return c.do(ctx, http.MethodPost, path, body, out)
}

func (c *client) do(ctx context.Context, method, path string, body, out any) error {
	answer, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		return &cli.Failure{Err: fmt.Errorf("regent: the agent's answer cannot be read: %w: compare the versions of agent and command line", err)}
	}
	return nil
}

// A refusal is an answer of the agent's that is not what was asked for.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// send sends a request, and returns the answer if it is one.
func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if c.broken != nil {
		return nil, cli.Failf("regent: %w", c.broken)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusAccepted {
		return answer, nil
	}
	defer answer.Body.Close()
	var r api.Refusal
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if json.Unmarshal(text, &r) != nil || r.Error == "" {
		r.Error = strings.TrimSpace(string(text))
	}
	if r.Error == "" {
		r.Error = fmt.Sprintf("the agent at %s answered %s", c.socket, answer.Status)
	}
	if answer.StatusCode == http.StatusUnauthorized && isURL(c.socket) {
		r.Error += fmt.Sprintf(": run 'regent login %s'", c.socket)
	}
	return nil, &cli.Failure{Err: &refusal{answer.StatusCode, "regent: " + r.Error}}
}

// unasked is an error of a request that no agent has received.
type unasked struct{ text string }

func (u *unasked) Error() string { return u.text }

// unreachable says why an agent does not answer, and what to do.
func (c *client) unreachable(ctx context.Context, err error) error {
	what := notThere(c.socket, err)
	if isURL(c.socket) {
		what = remoteHint(c.socket, err)
	}
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return &cli.Exit{Err: errors.New("regent: interrupted"), Status: cli.Failed}
	case what != "":
		return &cli.Exit{Err: &unasked{"regent: " + what}, Status: cli.NoAgent}
	case ctx.Err() != nil:
		what = fmt.Sprintf("the agent at %s did not answer in time (see its log)", c.socket)
	default:
		what = fmt.Sprintf("asking the agent at %s: %v", c.socket, err)
	}
	return &cli.Exit{Err: errors.New("regent: " + what), Status: cli.NoAgent}
}

// notThere says what to do if an error says that nobody listens at a socket, or that it is not for everybody; nothing
// if it says something else.
func notThere(socket string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no agent listens at %s: start it with 'systemctl start regent' or 'regent agent', "+
			"or say with --socket or $REGENT_SOCKET where it listens", socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("permission denied: %s (run the command as root, or as a member of the group that owns the socket: socket.group in the configuration)", socket)
	}
	return ""
}

// groupPath returns the path of a group's resource.
func groupPath(group, rest string) string {
	name := url.PathEscape(group)
	if group == "." || group == ".." { // which in a path mean something else
		name = strings.ReplaceAll(group, ".", "%2E")
	}
	return "/v1/groups/" + name + rest
}

// An event is one of a stream of server-sent events.
type event struct {
	name string
	data []byte
}

// errHungUp says that an agent that sent events has gone.
var errHungUp = errors.New("has hung up")

// events calls f with every event of a stream until f says that it has enough, the stream ends, or ctx does.
func (c *client) events(ctx context.Context, path string, f func(event) (more bool, err error)) error {
	answer, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	err = readEvents(answer.Body, f)
	switch {
	case !errors.Is(err, errHungUp):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &cli.Exit{Err: fmt.Errorf("regent: the agent at %s %w", c.socket, err), Status: cli.NoAgent}
}

// readEvents calls f with every event until f has enough, or until the stream ends: then it returns errHungUp.
func readEvents(from io.Reader, f func(event) (more bool, err error)) error {
	in := bufio.NewReader(from)
	var e event
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return errHungUp
		}
		line = bytes.TrimRight(line, "\r\n")
		if name, ok := bytes.CutPrefix(line, []byte("event: ")); ok {
			e.name = string(name)
		} else if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			e.data = append(e.data, data...)
		} else if len(line) == 0 && e.name != "" {
			more, err := f(e)
			if err != nil || !more {
				return err
			}
			e = event{}
		}
	}
}

// groupNames completes the names of groups, without those that were given up long ago.
func groupNames(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list api.GroupList
	socket, _ := c.Flags().GetString("socket")
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if newClient(socket).get(ctx, "/v1/groups", &list) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range list.Groups {
		if g := &list.Groups[i]; !ended(g, time.Now()) {
			names = append(names, g.Group)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func urlQuery(s string) string { return url.QueryEscape(s) }
