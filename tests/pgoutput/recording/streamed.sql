BEGIN;
INSERT INTO plain SELECT i, repeat('x', 300) FROM generate_series(100, 499) i;
SAVEPOINT s;
INSERT INTO plain SELECT i, repeat('x', 300) FROM generate_series(500, 899) i;
ROLLBACK TO s;
COMMIT;
