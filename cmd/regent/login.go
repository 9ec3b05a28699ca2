package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/internal/secret"
)

func loginCommand() *cobra.Command {
	var tokenFile, cert, key, ca string
	c := &cobra.Command{
		Use:   "login URL",
		Short: "Log in to the agent of another host, for --agent",
		Long: `Stores your credentials for the agent at URL, for 'regent COMMAND --agent URL': a token of role
read or write (http.tokens in the configuration of the agent), or a client certificate. Without
--token-file and --cert it reads the token from the terminal, or from the first line of the
standard input.

It stores the credentials only if the agent accepts them, in the file regent/agents.json of your
configuration directory (~/.config). No other user can read that file. The exit status is 1 if
the agent rejects the credentials, and 3 if it does not answer.`,
		Example: `  regent login https://host2:8008
  regent login https://host2:8008 --ca ca.pem --token-file ops.token
  regent login https://host2:8008 --ca ca.pem --cert me.pem --key me.key
  regent who billing --agent https://host2:8008`,
		Args: cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			at, err := checkURL(args[0])
			if err != nil {
				return err
			}
			if (cert == "") != (key == "") || cert != "" && tokenFile != "" {
				return errors.New("--cert and --key: pass both, and no --token-file")
			}
			own, err := readOwn(c, tokenFile, cert, key, ca)
			if err == nil {
				err = logIn(c, at, own)
			}
			var known *cli.Exit
			var failed *cli.Failure
			if err != nil && !errors.As(err, &known) && !errors.As(err, &failed) {
				err = cli.Failf("login: %w", err)
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&tokenFile, "token-file", "", "a file with your token")
	f.StringVar(&cert, "cert", "", "a file with your client certificate")
	f.StringVar(&key, "key", "", "a file with the private key of the certificate")
	f.StringVar(&ca, "ca", "", "a file with the CA certificates that the agent's certificate is checked against")
	return c
}

func logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout URL",
		Short: "Remove the credentials for the agent of another host",
		Long: `Removes the credentials that 'regent login' stored for the agent at URL. The exit status is 1 if
there are none.`,
		Example: `  regent logout https://host2:8008`,
		Args:    cli.Args,
		RunE: func(c *cobra.Command, args []string) error {
			at, err := checkURL(args[0])
			if err != nil {
				return err
			}
			all, err := readCredentials()
			if err != nil {
				return cli.Failf("logout: %w", err)
			}
			if _, ok := all[at]; !ok {
				return cli.Failf("logout: no credentials are stored for %s", at)
			}
			delete(all, at)
			if _, err := writeCredentials(all); err != nil {
				return cli.Failf("logout: %w", err)
			}
			fmt.Fprintf(c.OutOrStdout(), "logged out of %s\n", at)
			return nil
		},
	}
}

// readOwn reads the credentials that the flags name.
func readOwn(c *cobra.Command, tokenFile, cert, key, ca string) (own credentials, err error) {
	for _, f := range []struct {
		path string
		to   *string
	}{{cert, &own.Cert}, {key, &own.Key}, {ca, &own.CA}} {
		if f.path == "" {
			continue
		}
		b, err := os.ReadFile(f.path)
		if err != nil {
			return own, err
		}
		*f.to = string(b)
	}
	switch {
	case cert != "":
		return own, nil
	case tokenFile != "":
		own.Token, err = secret.Read(tokenFile)
	default:
		own.Token, err = askToken(c)
	}
	if err == nil && own.Token == "" {
		err = errors.New("the token is empty (paste it, or pass --token-file)")
	}
	return own, err
}

// askToken reads a token from the terminal, which does not show it, or from the standard input.
func askToken(c *cobra.Command) (string, error) {
	in := c.InOrStdin()
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(c.ErrOrStderr(), "token: ")
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(c.ErrOrStderr())
		return strings.TrimSpace(string(b)), err
	}
	line, err := bufio.NewReader(io.LimitReader(in, maxToken)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// maxToken is far above the length of a token.
const maxToken = 4 << 10

// logIn stores credentials if the agent takes them.
func logIn(c *cobra.Command, at string, own credentials) error {
	all, err := readCredentials()
	if err != nil {
		return err
	}
	agent := &client{}
	if err := agent.use(at, own); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), askLimit)
	defer cancel()
	var s api.AgentStatus
	if err := agent.get(ctx, "/v1/status", &s); err != nil {
		return err
	}
	all[at] = own
	path, err := writeCredentials(all)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "logged in to the agent of %s; try 'regent status --agent %s'\nstored in %s\n", s.Name, at, path)
	return nil
}
