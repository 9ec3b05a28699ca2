package nerio

// Begun says that this start of the member began the council: nobody in it has anything to remember from before.
func (m *Machine) Begun() bool { return m.start.begun }
