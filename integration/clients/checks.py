"""What scripts of one client library check, and how often they have."""

import redis

count = 0


def check(actual, expected):
    global count
    assert actual == expected, f"{str(actual)[:200]} is not {str(expected)[:200]}"
    count += 1


def refused(call, words):
    try:
        call()
    except redis.ResponseError as error:
        check(words in str(error), True)
    else:
        raise AssertionError(f"it is not refused: {words}")
