package party

import "sync"

// resumes are the parties whose deadlines are looked at when the host resumes from a suspend.
var resumes struct {
	once sync.Once
	mu   sync.Mutex
	all  map[*Party]struct{}
}

func watchResumes(p *Party) {
	resumes.once.Do(func() {
		resumes.all = make(map[*Party]struct{})
		onResume(tickAll)
	})
	resumes.mu.Lock()
	defer resumes.mu.Unlock()
	resumes.all[p] = struct{}{}
}

func unwatchResumes(p *Party) {
	resumes.mu.Lock()
	defer resumes.mu.Unlock()
	delete(resumes.all, p)
}

// tickAll has every party look at its deadline.
func tickAll() {
	resumes.mu.Lock()
	all := make([]*Party, 0, len(resumes.all))
	for p := range resumes.all {
		all = append(all, p)
	}
	resumes.mu.Unlock()
	for _, p := range all {
		go p.Tick()
	}
}
