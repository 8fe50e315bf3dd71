-- Rolled back in part or whole, yet logged, since a table without transactions was written to: refused by MySQL with GTIDs.
CREATE TABLE mixed (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;
CREATE TABLE myisam (id INT PRIMARY KEY) ENGINE=MyISAM;
BEGIN;
INSERT INTO mixed VALUES (4, 'four');
SAVEPOINT `mixed ``engines`;
INSERT INTO mixed VALUES (5, 'five');
INSERT INTO myisam VALUES (1);
ROLLBACK TO `mixed ``engines`;
COMMIT;
SET SESSION gtid_domain_id = 5, SESSION server_id = 78;
BEGIN;
INSERT INTO mixed VALUES (6, 'six');
INSERT INTO myisam VALUES (2);
ROLLBACK;
