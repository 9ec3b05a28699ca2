package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"sync"
)

// notes is a store of raft for its term and its vote. Each change writes a new file in place of the old one. It is not synchronised with the disk.
type notes struct {
	file string // empty: memory only
	mu   sync.Mutex
	kept map[string][]byte
}

// openNotes reads what an earlier process of this member wrote, if there was one.
func openNotes(file string) (*notes, error) {
	n := &notes{file: file, kept: make(map[string][]byte)}
	if file == "" {
		return n, nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	return n, json.Unmarshal(b, &n.kept)
}

func (n *notes) Set(key, value []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept[string(key)] = append([]byte{}, value...)
	if n.file == "" {
		return nil
	}
	b, err := json.Marshal(n.kept)
	if err != nil {
		return err
	}
	draft := n.file + ".draft"
	if err := os.WriteFile(draft, b, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, n.file)
}

func (n *notes) Get(key []byte) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[string(key)], nil
}

func (n *notes) SetUint64(key []byte, value uint64) error {
	return n.Set(key, binary.BigEndian.AppendUint64(nil, value))
}

func (n *notes) GetUint64(key []byte) (uint64, error) {
	b, err := n.Get(key)
	if err != nil || len(b) != 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}
