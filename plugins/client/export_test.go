package client

import "github.com/ptobuild/ptobuild/ir"

// Requests is how many requests were sent.
func (c *Client) Requests() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// SharedFile makes a file that hands data to plugins.
func (c *Client) SharedFile() (string, error) {
	f, err := c.sharedFile()
	if err != nil {
		return "", err
	}
	return f.Name(), nil
}

// ForeseeType notes that the type of a call will be asked for.
func (c *Client) ForeseeType(plugin string, call *ir.OpCall) error {
	untyped := *call
	untyped.Typ = ir.Unknown
	_, err := c.types.foresee(plugin, canonicalOf(&untyped), false)
	return err
}
