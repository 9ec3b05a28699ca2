package runtime

import "github.com/regentproject/regent/internal/protocol"

// noticeRestore ends this life of the member if its machine was restored from a snapshot, and says whether it did. It is called before
// events are taken, and again before packets are sealed.
func (l *Loop) noticeRestore() bool {
	if l.Restored == nil {
		return false
	}
	now := l.Clock()
	start, yes := l.Restored(now)
	if !yes {
		return false
	}
	l.Port.Restart(now, start)
	if i := l.instances[Council]; i != nil {
		l.step(i, now, protocol.Restored{Start: start})
	}
	l.Suspend() // the leases that are held may be long over
	return true
}

// noticeSuspend ends all leases if the host was suspended since it was called before: before anything else happens, and before an
// attempt succeeds that began earlier.
func (l *Loop) noticeSuspend() {
	if l.Suspended == nil {
		return
	}
	if slept := l.Suspended(); slept != l.slept {
		l.slept = slept
		l.Suspend()
	}
}
