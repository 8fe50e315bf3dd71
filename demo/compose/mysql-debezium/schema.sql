-- Run once by the MySQL image, as root and in the database `shop`, when its data directory is empty.
CREATE TABLE products (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(100) NOT NULL
) ENGINE = InnoDB;
CREATE TABLE heartbeat (id INT NOT NULL PRIMARY KEY, beat BIGINT NOT NULL) ENGINE = InnoDB;
INSERT INTO heartbeat VALUES (1, 0);

SET SESSION cte_max_recursion_depth = 10000;
INSERT INTO products (id, name)
WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 10000)
SELECT id, CONCAT('product number ', id) FROM ids;

-- What Debezium needs; the heartbeat's table it writes. The password is that of application.properties; only its network reaches MySQL.
CREATE USER debezium@'%' IDENTIFIED BY 'debezium-demo';
GRANT SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO debezium@'%';
GRANT UPDATE ON shop.heartbeat TO debezium@'%';
