package core

import (
	"maps"
	"slices"
)

// A Kind says what a message is.
type Kind string

// The messages. The manager sends Ask, Assign and Done; members answer with Answer and Safe. Owners send Put, heirs Fetch; vaults answer with Stored, Shares
// and Refused, and report Spoilt. Look reads without the rights of an heir.
const (
	Ask     Kind = "ask"     // what do you own?
	Answer  Kind = "answer"  // these keys
	Assign  Kind = "assign"  // you inherit these keys, and maybe none
	Safe    Kind = "safe"    // all that I own is complete in this view
	Done    Kind = "done"    // the view is recovered
	Fetch   Kind = "fetch"   // your shares of a key: refuse earlier views from now on
	Look    Kind = "look"    // your shares of a key, for a reader
	Shares  Kind = "shares"  // here they are
	Put     Kind = "put"     // keep a share
	Stored  Kind = "stored"  // it is on disk
	Refused Kind = "refused" // there is a later view
	Spoilt  Kind = "spoilt"  // my shares of these keys are damaged
)

// A Message goes from one member to another.
type Message struct {
	Kind  Kind     `json:"kind"`
	View  Number   `json:"view"`
	Key   string   `json:"key,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Stuck []string `json:"stuck,omitempty"` // in Safe: keys whose newest checkpoint is out of reach
	Seq   uint64   `json:"seq,omitempty"`
	Share *Share   `json:"share,omitempty"`
	Base  ID       `json:"base,omitzero"` // the last checkpoint that is complete: vaults remove earlier ones
	Found Found    `json:"found,omitzero"`
}

// ToVault reports whether a message is one that vaults answer.
func (m *Message) ToVault() bool { return m.Kind == Put || m.Kind == Fetch || m.Kind == Look }

// An Envelope is a message and its receiver, which may be the sender.
type Envelope struct {
	To int
	Message
}

// A Roster is what the group agreed on: the members of a view, and its manager.
type Roster struct {
	Number  Number
	Members Set
	Manager int
}

// An Inheritance is a key that the program works on from now on, from a state. Of a key that begins there is none.
type Inheritance struct {
	Key   string
	Begin bool
	From  ID
	Seq   uint64
	// Complete is the last that is known to be complete, and at most Seq: what an heir can read need not be complete.
	Complete uint64
	State    []byte
}

// A Completion is a checkpoint that is complete.
type Completion struct {
	Key string
	ID  ID
}

// Effects are what the driver must do, in this order.
type Effects struct {
	Inherit   []Inheritance
	Complete  []Completion
	Send      []Envelope
	Waiting   []Completion // keys whose newest checkpoint is out of reach, for the log
	Recovered bool         // report the present view as recovered: the members that are back can be taken in
	Founded   bool         // every key is complete in the present view
}

// A Machine is one membership of one member.
type Machine struct {
	config  Config
	view    Roster
	owned   map[string]*owned
	heir    map[string]*search
	manager *manager // nil: another member manages this view
	// assigned says that the manager of the view knows what this member owns; done that it has reported the view recovered.
	assigned, done bool
	out            Effects
}

// An owned key has its last state that the program saved.
type owned struct {
	began  bool // the program has a state
	seq    uint64
	state  []byte
	base   ID // the last checkpoint that is known to be complete
	shares []Share
	acked  Set
	safe   bool // it is complete, in the present view
}

// A search collects the shares of a key. It is stuck if all have answered, and the newest checkpoint is out of reach.
type search struct {
	found map[int]Found
	stuck bool
}

// New makes the machine of a membership. It owns nothing.
func New(c Config) *Machine {
	return &Machine{config: c, owned: make(map[string]*owned), heir: make(map[string]*search)}
}

// Take returns what there is to do, once.
func (m *Machine) Take() Effects {
	out := m.out
	m.out = Effects{}
	return out
}

// View returns the present view.
func (m *Machine) View() Roster { return m.view }

// Owned returns the keys of this member in order.
func (m *Machine) Owned() []string { return slices.Sorted(maps.Keys(m.owned)) }

// SetView takes a view. All that was saved must become complete once more, under its number.
func (m *Machine) SetView(v Roster) {
	if v.Number.Compare(m.view.Number) <= 0 {
		return
	}
	m.view, m.assigned, m.done, m.manager = v, false, false, nil
	clear(m.heir) // its manager may be gone: the manager of this view assigns anew
	if v.Manager == m.config.Self {
		m.manager = newManager()
	}
	for _, key := range m.Owned() {
		if o := m.owned[key]; o.began {
			m.save(key, o)
		}
	}
	m.Tick()
}

// Save takes a state of an owned key. The program goes on once it is complete, at most one interval ahead.
func (m *Machine) Save(key string, seq uint64, state []byte) {
	o := m.owned[key]
	if o == nil || o.began && seq <= o.seq {
		return
	}
	o.began, o.seq, o.state = true, seq, state
	m.save(key, o)
}

// save sends the shares of a key to all members of the view.
func (m *Machine) save(key string, o *owned) {
	shares, err := cut(m.config.Coder, key, ID{m.view.Number, o.seq}, o.base, m.view.Members, o.state)
	if err != nil {
		panic("checkpoint: the code refuses a state: " + err.Error())
	}
	o.shares, o.acked, o.safe = shares, 0, false
	m.put(key, o)
}

// put sends shares to the members that have not acknowledged them.
func (m *Machine) put(key string, o *owned) {
	for to := range (m.view.Members &^ o.acked).All() {
		m.send(to, Message{Kind: Put, Key: key, Share: &o.shares[to], Base: o.base})
	}
}

func (m *Machine) send(to int, msg Message) {
	msg.View = m.view.Number
	m.out.Send = append(m.out.Send, Envelope{to, msg})
}

// Tick sends again what was not answered.
func (m *Machine) Tick() {
	if m.manager != nil {
		m.manage()
		m.hurry()
	}
	for _, key := range m.Owned() {
		if o := m.owned[key]; o.shares != nil && !o.safe {
			m.put(key, o)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.heir)) {
		for to := range m.view.Members.All() {
			if _, ok := m.heir[key].found[to]; !ok {
				m.send(to, Message{Kind: Fetch, Key: key})
			}
		}
	}
	m.report()
}

// Receive takes a message from a member. Messages of other views do not count.
func (m *Machine) Receive(from int, msg *Message) {
	if msg.Kind == Spoilt {
		m.rebuild(from, msg.Keys)
		return
	}
	if msg.View != m.view.Number || !m.view.Members.Has(from) {
		return
	}
	switch msg.Kind {
	case Ask:
		if from == m.view.Manager {
			m.send(from, Message{Kind: Answer, Keys: m.Owned()})
		}
	case Assign:
		if from == m.view.Manager {
			m.assign(msg.Keys)
		}
	case Done:
		if from == m.view.Manager {
			m.out.Founded = m.out.Founded || !m.done
			m.done = true
		}
	case Answer, Safe:
		if m.manager != nil {
			m.manager.take(from, msg)
			m.manage()
		}
	case Shares:
		m.found(from, msg)
	case Stored:
		m.stored(from, msg)
	}
}

// assign begins to look for the state of inherited keys.
func (m *Machine) assign(keys []string) {
	m.assigned = true
	for _, key := range keys {
		if m.owned[key] != nil || m.heir[key] != nil {
			continue
		}
		m.heir[key] = &search{found: make(map[int]Found)}
		for to := range m.view.Members.All() {
			m.send(to, Message{Kind: Fetch, Key: key})
		}
	}
	m.report()
}

// found takes the shares of a vault. Once all members have answered, it decides what to go on from.
func (m *Machine) found(from int, msg *Message) {
	s := m.heir[msg.Key]
	if s == nil {
		return
	}
	f := Found{Damaged: slices.Clone(msg.Found.Damaged), Lost: msg.Found.Lost}
	for _, share := range msg.Found.Shares {
		if share.Index == from && share.Intact(msg.Key) {
			f.Shares = append(f.Shares, share)
		} else {
			f.Damaged = append(f.Damaged, share.ID)
		}
	}
	s.found[from] = f
	if len(s.found) < m.view.Members.Len() {
		return
	}
	c := m.config.Choose(m.view.Members, s.found)
	if c.Verdict == Begin {
		delete(m.heir, msg.Key)
		m.owned[msg.Key] = &owned{}
		m.out.Inherit = append(m.out.Inherit, Inheritance{Key: msg.Key, Begin: true})
		return
	}
	var state []byte
	ok := c.Verdict == Resume
	if ok {
		state, ok = Join(m.config.Coder, m.config.Members, c.Shares)
	}
	if !ok {
		m.out.Waiting = append(m.out.Waiting, Completion{msg.Key, c.ID})
		clear(s.found)
		s.stuck = true
		m.report()
		return
	}
	delete(m.heir, msg.Key)
	o := &owned{began: true, seq: c.ID.Seq, state: state, base: c.Shares[0].Base}
	m.owned[msg.Key] = o
	m.out.Inherit = append(m.out.Inherit, Inheritance{Key: msg.Key, From: c.ID, Seq: c.ID.Seq, Complete: o.base.Seq, State: state})
	m.save(msg.Key, o)
}

// stored counts an acknowledgement under the present view.
func (m *Machine) stored(from int, msg *Message) {
	o := m.owned[msg.Key]
	if o == nil || o.shares == nil || msg.Seq != o.seq {
		return
	}
	o.acked |= Of(from)
	if o.safe || o.acked.Len() < m.config.Need(m.view.Members.Len()) {
		return
	}
	o.safe, o.base = true, o.shares[0].ID
	m.out.Complete = append(m.out.Complete, Completion{msg.Key, o.base})
	m.report()
}

// rebuild sends a member those of its shares again that it found damaged.
func (m *Machine) rebuild(from int, keys []string) {
	if !m.view.Members.Has(from) {
		return
	}
	for _, key := range keys {
		if o := m.owned[key]; o != nil && o.shares != nil {
			m.send(from, Message{Kind: Put, Key: key, Share: &o.shares[from], Base: o.base})
		}
	}
}

// report reports to the manager once all that this member owns is complete in the present view, and what it inherits is too, or out of reach.
func (m *Machine) report() {
	if !m.assigned || m.done {
		return
	}
	stuck := slices.Sorted(maps.Keys(m.heir))
	for _, key := range stuck {
		if !m.heir[key].stuck {
			return
		}
	}
	for _, o := range m.owned { // order does not matter: all must be
		if o.base.View != m.view.Number { // a later state may be on its way
			return
		}
	}
	m.send(m.view.Manager, Message{Kind: Safe, Keys: m.Owned(), Stuck: stuck})
}
