package terminal

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// interval is the time between two pages of Live.
const interval = 2 * time.Second

// Live shows a page. If watch is true, it does so again and again, until the page is the last one, there is an error,
// or the context is canceled. On a terminal each page replaces the page before it. Only the lines that have changed
// look different, because the terminal is never cleared in between. Without a terminal the pages follow each other.
func (s Streams) Live(ctx context.Context, watch bool, page func(context.Context) (text string, last bool, err error)) error {
	start := clearScreen
	for {
		text, last, err := page(ctx)
		if err != nil {
			return err
		}

		if s.Width == 0 || !watch {
			fmt.Fprint(s.Out, text)
		} else {
			Send(s.Out, start)

			for line := range strings.Lines(text) {
				fmt.Fprint(s.Out, strings.TrimSuffix(line, "\n"))
				Send(s.Out, clearLine)
				fmt.Fprintln(s.Out)
			}

			Send(s.Out, clearBelow)

			start = screenStart
		}

		if last || !watch {
			return nil
		}

		select {
		case <-ctx.Done():
			return context.Canceled
		case <-time.After(interval):
		}
	}
}
