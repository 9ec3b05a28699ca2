package thread

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// latencyFile takes how late processors may wake up, in microseconds, for as long as it is open.
const latencyFile = "/dev/cpu_dma_latency"

// HoldAwake keeps the processors of the host from sleeping so deeply that they wake up late, until it is closed. It costs power. Only root may.
func HoldAwake() (io.Closer, error) {
	f, err := os.OpenFile(latencyFile, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("holding the processors awake: %w", err)
	}
	if _, err := f.Write(binary.NativeEndian.AppendUint32(nil, 0)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("holding the processors awake: %w", err)
	}
	return f, nil
}
