package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regentproject/regent/agent/web"
)

// Page holds the flags of a command that serves a page on this host.
type Page struct {
	Addr         string
	open, noOpen bool
}

// Flags adds the flags to a command.
func (p *Page) Flags(c *cobra.Command) {
	c.Flags().StringVar(&p.Addr, "addr", "127.0.0.1:0", "where to serve the page; loopback only, port 0 is any free one")
	p.BrowseFlags(c)
}

// BrowseFlags adds those of a command whose page is served elsewhere.
func (p *Page) BrowseFlags(c *cobra.Command) {
	c.Flags().BoolVar(&p.open, "open", false, "open a browser (default: if there is a screen and a terminal)")
	c.Flags().BoolVar(&p.noOpen, "no-open", false, "never open a browser")
	c.MarkFlagsMutuallyExclusive("open", "no-open")
}

// Browse opens a browser if the user asked for one, or if the output is a terminal.
func (p *Page) Browse(ctx context.Context, url string, out io.Writer) error {
	if p.noOpen {
		return nil
	}
	f, ok := out.(*os.File)
	if !p.open && (!ok || !term.IsTerminal(int(f.Fd()))) {
		return nil
	}
	if err := web.Browse(ctx, url); err != nil && p.open {
		return fmt.Errorf("--open: %w: open %s yourself", err, url)
	}
	return nil
}
