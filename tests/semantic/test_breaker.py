from kb_search.semantic.breaker import Breaker


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def broken(clock):
    breaker = Breaker(clock)
    for _ in range(3):
        assert breaker.allows()
        breaker.failed("timeout")
    return breaker


def test_after_three_failures_nobody_is_asked_for_a_while():
    clock = Clock()
    breaker = broken(clock)
    assert not breaker.allows()
    assert breaker.reason == "timeout"
    clock.now = 5.1
    assert breaker.allows()


def test_only_one_tries_again_at_a_time():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 5.1
    assert breaker.allows()
    assert not breaker.allows()
    breaker.gave_up()
    assert breaker.allows()


def test_a_success_closes_it():
    clock = Clock()
    breaker = broken(clock)
    clock.now = 5.1
    assert breaker.allows()
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.allows()


def test_each_further_failure_doubles_the_pause_up_to_a_minute():
    clock = Clock()
    breaker = broken(clock)
    pauses = []
    for _ in range(6):
        start = clock.now
        while not breaker.allows():
            clock.now += 1
        pauses.append(clock.now - start)
        breaker.failed("unavailable")
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_failures_count_only_in_a_row():
    breaker = Breaker(Clock())
    for _ in range(10):
        breaker.failed("timeout")
        breaker.succeeded()
    assert breaker.allows()
