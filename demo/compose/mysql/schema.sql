-- Run once by the MySQL image, as root and in the database `shop`, when its data directory is empty.

-- As demo/mysql_shop.cpp has it: the application checks the names that it reads.
CREATE TABLE users (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(100) NOT NULL,
  email VARCHAR(100) NOT NULL DEFAULT ''
) ENGINE = InnoDB;
CREATE TABLE orders (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  text VARCHAR(100) NOT NULL
) ENGINE = InnoDB;

SET SESSION cte_max_recursion_depth = 1000;
INSERT INTO users (id, name, email)
WITH RECURSIVE thousand (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM thousand WHERE n < 999)
SELECT id, CONCAT('user number ', id), CONCAT(id, '@shop.example')
FROM (SELECT high.n * 1000 + low.n + 1 AS id FROM thousand AS high CROSS JOIN thousand AS low) AS ids;

INSERT INTO orders (id, text)
SELECT uuid, CONCAT('order ', uuid)
FROM (SELECT CONCAT('00000000-0000-4000-8000-', LPAD(LOWER(HEX(id)), 12, '0')) AS uuid FROM users WHERE id <= 100000) AS uuids;

-- All that the guard needs. The password is as docker-compose.yml gives it to the guard; only its network reaches MySQL.
CREATE USER guard@'%' IDENTIFIED BY 'guard-demo';
GRANT SELECT ON shop.users TO guard@'%';
GRANT SELECT ON shop.orders TO guard@'%';
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO guard@'%';
