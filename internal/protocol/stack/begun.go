package stack

// Begun says whether this start of the member began the council, as far as the authority can tell.
func (m *Machine) Begun() bool {
	a, ok := m.authority.(interface{ Begun() bool })
	return ok && a.Begun()
}
